#include "runtime/api/StatusMacros.h"
#include "runtime/io/Safetensors.h"

#include "absl/strings/str_cat.h"

#include <algorithm>

namespace splitcast::runtime {

namespace {

SafetensorsLayout layoutOf(const std::vector<TensorToStore> &tensors) {
  SafetensorsLayout layout;
  for (const TensorToStore &tensor : tensors) {
    StoredTensor stored;
    stored.name = tensor.name;
    stored.type = tensor.type;
    stored.shape = tensor.shape;
    layout.tensors.push_back(std::move(stored));
  }
  return layout;
}

bool sameTensors(const SafetensorsLayout &a, const SafetensorsLayout &b) {
  return std::equal(a.tensors.begin(), a.tensors.end(), b.tensors.begin(), b.tensors.end(),
                    [](const StoredTensor &x, const StoredTensor &y) {
                      return x.name == y.name && x.dtype == y.dtype && x.shape == y.shape;
                    });
}

absl::Status invalid(const std::string &path, const std::string &text) {
  return fileError(absl::StatusCode::kInvalidArgument, path, text);
}

} // namespace

absl::StatusOr<SafetensorsWriter> SafetensorsWriter::create(const std::string &path,
                                                            const std::vector<TensorToStore> &tensors,
                                                            const std::map<std::string, std::string> &metadata) {
  SafetensorsWriter writer;
  writer.layout = layoutOf(tensors);
  writer.layout.metadata = metadata;
  absl::StatusOr<std::string> start = layOutSafetensors(writer.layout);
  if (!start.ok())
    return invalid(path, absl::StrCat("cannot be written: ", std::string(start.status().message())));
  SPLITCAST_ASSIGN_OR_RETURN(PendingFile pending, PendingFile::create(path));
  writer.pending.emplace(std::move(pending));
  SPLITCAST_RETURN_IF_ERROR(writer.file().resize(writer.layout.fileBytes));
  SPLITCAST_RETURN_IF_ERROR(writer.file().writeAt(0, start->size(), start->data()));
  return writer;
}

absl::StatusOr<SafetensorsWriter> SafetensorsWriter::attach(const std::string &temporaryPath,
                                                            const std::vector<TensorToStore> &tensors) {
  SafetensorsWriter writer;
  writer.layout = layoutOf(tensors);
  if (absl::StatusOr<std::string> start = layOutSafetensors(writer.layout); !start.ok())
    return invalid(temporaryPath, absl::StrCat("cannot be written: ", std::string(start.status().message())));
  SPLITCAST_ASSIGN_OR_RETURN(SafetensorsFile existing, SafetensorsFile::open(temporaryPath));
  SafetensorsLayout found;
  found.tensors = existing.tensors();
  if (!sameTensors(found, writer.layout))
    return invalid(temporaryPath, absl::StrCat("was made for other tensors (", found.tensors.size(),
                                               ") than this writer's (", writer.layout.tensors.size(),
                                               "), or with other shapes or types; give all writers the same list"));
  // The file's own layout is used, since its metadata, which this writer need
  // not know, shifts the data.
  writer.layout = std::move(found);
  SPLITCAST_ASSIGN_OR_RETURN(File file, File::openForWriting(temporaryPath));
  writer.attached.emplace(std::move(file));
  return writer;
}

absl::Status SafetensorsWriter::write(const std::string &name, int64_t elementOffset, const void *from, int64_t count) {
  if (isCreator())
    SPLITCAST_RETURN_IF_ERROR(pending->checkPending());
  auto tensor = std::lower_bound(layout.tensors.begin(), layout.tensors.end(), name,
                                 [](const StoredTensor &stored, const std::string &key) { return stored.name < key; });
  if (tensor == layout.tensors.end() || tensor->name != name)
    return fileError(absl::StatusCode::kNotFound, temporaryPath(),
                     absl::StrCat("was made without a tensor '", name, "'; name it when the file is created"));
  if (elementOffset < 0 || count < 0 || elementOffset > tensor->elements || count > tensor->elements - elementOffset)
    return invalid(temporaryPath(),
                   absl::StrCat("cannot write ", count, " elements from element ", elementOffset, " on of tensor '",
                                name, "'; it has ", tensor->elements, " elements; write a range within it"));
  int64_t elementBytes = bytesOf(*tensor->type);
  absl::Status status = file().writeAt(tensor->begin + elementOffset * elementBytes, count * elementBytes, from);
  if (status.ok())
    written += count * elementBytes;
  return status;
}

absl::Status SafetensorsWriter::flush() { return file().sync(); }

absl::Status SafetensorsWriter::commit(int64_t bytesWrittenByOthers) {
  if (!isCreator())
    return fileError(absl::StatusCode::kFailedPrecondition, temporaryPath(),
                     "this writer is attached; only the one that created the file can commit it; flush here");
  int64_t dataBytes = layout.fileBytes - layout.dataBegin, all = written + bytesWrittenByOthers;
  if (all != dataBytes)
    return fileError(absl::StatusCode::kFailedPrecondition, pending->path(),
                     absl::StrCat(all, " bytes of tensors were written, but they have ", dataBytes,
                                  "; write every element exactly once before commit"));
  return pending->commit();
}

} // namespace splitcast::runtime
