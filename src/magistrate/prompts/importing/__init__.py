"""A peer's own wording, read from the user's copy of its repository, becomes a family folder.

Published judges answer best to the prompt they were trained on, and that prompt is their authors'
text: it is not in this package. :func:`~magistrate.prompts.importing.importer.import_family` reads
it where the user has it. Nothing of the peer is run or imported: Python sources are parsed.

======================  ===========================================================
:mod:`wording`          text with places to fill, whichever way a peer writes these
:mod:`python_texts`     the texts of a Python source, from its syntax tree
:mod:`texts`            the texts of any file: Python, JSON, JSON Lines, YAML, plain
:mod:`origin`           where a file is from: project, commit, hash, licence
:mod:`recipe`           how a family is put together from texts, and how it is read
:mod:`recipes`          the known peers
:mod:`drafting`         recipe + texts -> the files of a family folder
:mod:`importer`         all of it, from a name and a path to a stored family
======================  ===========================================================
"""
