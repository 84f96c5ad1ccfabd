"""What the papers behind this project state, beside what comes out here: `polypath paper`.

`sources` cites the papers, `findings` is what an experiment comes to, `experiments` lists them all.
Each experiment is a module of its own with a function `run(Bench) -> Outcome`.
"""
