"""Judge folders in other forms, each compared with the judge that it was made of."""
