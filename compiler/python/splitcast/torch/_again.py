"""What errors say where only another compilation follows a change of the user's."""
AGAIN = ("write_back() and save() to a file, compile again with a new optimizer, and load(file, strict=False), which "
         "keeps momentum and the like, and sets learning rates to the file's")
# Where a part or a tensor of the model is another one: it was made before write_back(), and load() would fill it.
ANEW = ("undo that and call write_back(), or load trainer.state_dict() into a model that is made anew; then do it "
        "again, and compile again with a new optimizer, without load(), which would give new parts the old values")
