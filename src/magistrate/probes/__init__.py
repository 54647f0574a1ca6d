"""Probes: experiments that measure what sways a judge beside the quality of answers."""
