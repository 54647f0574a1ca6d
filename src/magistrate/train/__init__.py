"""Trainings of judges: from labelled samples to a judge folder (``docs/training.md``).

====================  =============================================================
module                what it does
====================  =============================================================
``recipe``            the recipe of a training
``examples``          labelled samples to examples, a pure function
``targets``           what a judge learns to reply
``families``          which prompt an example gets
``encoding``          examples to token ids
``fitting``           what a row loses when it is too long
``reading``           the labelled samples of a training
``head``              what every head can do; which heads there are
``generate``          the head that writes
``heads``             what the heads that return numbers share
``classify``          the head that says first, second or tie
``regress``           the head that scores
``head_prompts``      how those two are asked
``bases``             the base model
``adapting``          which weights are trained
``segments``          samples behind one another in one row
``schedule``          which samples each step sees
``steps``             those samples as tensors
``device``            where it runs, how exactly
``arguments``         what transformers' Trainer is told
``trainer``           that Trainer, with losses by part
``evaluating``        how good the judge is while it is trained
``best``              the best weights so far
``logs``              learning curves
``resuming``          what lets a training stop and go on
``loop``              all of it, in sequence
``launching``         several processes
``estimate``          what a training will take
``fitting_verdicts``  what turns numbers into verdicts
``folder``, ``card``  the judge folder
``export``            judge folders in other forms
====================  =============================================================
"""
