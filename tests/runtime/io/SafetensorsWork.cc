// safetensors_work FILE TENSORS: writes a file of so many tensors, each by its name, and reads it back in the same way.
// safetensors_work_test.py counts its instructions.
#include "runtime/io/Safetensors.h"

#include <cstdio>
#include <cstdlib>

using namespace splitcast::runtime;

static absl::Status writeAndRead(const std::string &path, int64_t tensors) {
  std::vector<TensorToStore> list;
  for (int64_t i = tensors; i-- > 0;)
    list.push_back({"layers." + std::to_string(i) + ".weight", ElementType::I8, {1}});
  absl::StatusOr<SafetensorsWriter> writer = SafetensorsWriter::create(path, list);
  absl::Status status = writer.status();
  if (status.ok())
    status.Update(SafetensorsWriter::attach(writer->temporaryPath(), list).status());
  for (const TensorToStore &tensor : list)
    if (status.ok())
      status.Update(writer->write(tensor.name, 0, "x", 1));
  if (status.ok())
    status.Update(writer->commit());
  const absl::StatusOr<SafetensorsFile> file = SafetensorsFile::open(path);
  status.Update(file.status());
  char byte = 0;
  for (const TensorToStore &tensor : list)
    if (status.ok())
      status.Update(file->read(tensor.name, 0, 1, &byte));
  return status;
}

int main(int argc, char **argv) {
  const absl::Status status =
      argc == 3 ? writeAndRead(argv[1], std::atoll(argv[2])) : absl::InvalidArgumentError("usage");
  if (!status.ok())
    fprintf(stderr, "safetensors_work: error: %s\n", std::string(status.message()).c_str());
  return status.ok() ? 0 : 1;
}
