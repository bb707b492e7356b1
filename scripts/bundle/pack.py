"""Packs a directory, with its own name, into an archive: python3 pack.py DIRECTORY FILE.tar.xz"""
import lzma
import os
import sys
import tarfile

# The x86 filter makes jumps absolute, so that programs compress better. The dictionary is large enough for most of
# LLVM.
FILTERS = [{"id": lzma.FILTER_X86}, {"id": lzma.FILTER_LZMA2, "preset": 9, "dict_size": 128 << 20}]


def main():
    directory, output = sys.argv[1:]
    unfinished = output + ".unfinished"
    with lzma.open(unfinished, "wb", filters=FILTERS) as compressed, tarfile.open(fileobj=compressed,
                                                                                  mode="w") as archive:
        archive.add(directory, arcname=os.path.basename(directory))
    os.replace(unfinished, output)


if __name__ == "__main__":
    main()
