"""`python -m bench.reading.by_model`: foreign files read by a model, against the check-list. See `dataset`."""

from bench.quality import main
from bench.reading.dataset import files, folders

if __name__ == "__main__":
    main(
        "reading.by_model",
        "Foreign files read by a model, against the check-list of `bench.reading.checklist`",
        {"files, by the whole check-list": files(), "files of folders, by what is said of each": folders()},
    )
