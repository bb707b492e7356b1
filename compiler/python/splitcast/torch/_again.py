"""What errors say where only another compilation follows a change of the user's."""
AGAIN = ("write_back() and save() to a file, compile again with a new optimizer, and load(file, strict=False), which "
         "keeps momentum and the like")
