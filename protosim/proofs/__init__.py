"""Proof problems: a trusted specification, lemmas to be proved of it, and a verdict on what somebody wrote.

`problem` reads them, `judge` judges an answer, `certify` asks whether a problem is worth asking, `derive` makes more.
"""
