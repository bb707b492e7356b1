// All ranks write their variables to one file: now, or in the background from a
// copy.
#include "runtime/executor/SaveVariables.h"

#include "runtime/api/StatusMacros.h"
#include "runtime/executor/Variables.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

#include <chrono>
#include <new>
#include <optional>

namespace splitcast::runtime {

namespace {

constexpr char kWhat[] = "saving variables";

std::vector<TensorToStore> tensorsOf(const std::vector<const VariableInfo *> &variables) {
  std::vector<TensorToStore> tensors;
  for (const VariableInfo *variable : variables)
    tensors.push_back({variable->name, variable->type, variable->shape});
  return tensors;
}

} // namespace

//===----------------------------------------------------------------------===//
// The file
//===----------------------------------------------------------------------===//

absl::StatusOr<SafetensorsWriter> Variables::openWriter(const std::string &path) {
  const std::vector<TensorToStore> tensors = tensorsOf(stored());
  std::optional<SafetensorsWriter> writer;
  absl::Status status;
  auto take = [&](absl::StatusOr<SafetensorsWriter> made) {
    status = made.status();
    if (made.ok())
      writer.emplace(*std::move(made));
  };
  if (communicator.rank() == 0)
    take(SafetensorsWriter::create(path, tensors));
  SPLITCAST_RETURN_IF_ERROR(agree(status, kWhat));
  SPLITCAST_ASSIGN_OR_RETURN(std::vector<std::string> names,
                             communicator.exchange(writer ? writer->temporaryPath() : "", {kWhat}));
  if (!writer)
    take(SafetensorsWriter::attach(names[0], tensors));
  SPLITCAST_RETURN_IF_ERROR(agree(status, kWhat));
  return *std::move(writer);
}

absl::Status Variables::commit(SafetensorsWriter &writer, const absl::Status &mine) {
  SPLITCAST_RETURN_IF_ERROR(agree(mine, kWhat));
  SPLITCAST_ASSIGN_OR_RETURN(std::vector<std::string> written,
                             communicator.exchange(absl::StrCat(writer.writtenBytes()), {kWhat}));
  int64_t others = 0;
  for (size_t rank = 1; rank < written.size(); ++rank) {
    int64_t bytes = 0;
    (void)absl::SimpleAtoi(written[rank], &bytes);
    others += bytes;
  }
  return agree(communicator.rank() == 0 ? writer.commit(others) : absl::OkStatus(), kWhat);
}

absl::Status Variables::savePieces(const VariableInfo &variable, SafetensorsWriter &writer) {
  const int64_t bytes = bytesOf(variable.type);
  std::vector<char> data;
  return forEachPart(variable, [&](const Part &part) {
    data.resize(part.count * bytes);
    absl::Status status = device.download(data.data(), pieceOf(variable).slice(part.begin * bytes, part.count * bytes));
    for (const sbp::Run &run : part.runs)
      if (status.ok())
        status = writer.write(variable.name, run.logical, data.data() + run.local * bytes, run.count);
    return status;
  });
}

absl::Status Variables::save(const std::string &path) {
  SPLITCAST_ASSIGN_OR_RETURN(SafetensorsWriter writer, openWriter(path));
  absl::Status status;
  for (const VariableInfo *variable : stored())
    if (status.ok() && variable->ownsPieces)
      status = savePieces(*variable, writer);
  if (status.ok())
    status = writer.flush();
  return commit(writer, status);
}

//===----------------------------------------------------------------------===//
// In the background
//===----------------------------------------------------------------------===//

int64_t Variables::snapshotBytes() const {
  int64_t bytes = 0;
  for (const VariableInfo *variable : stored())
    bytes += variable->ownsPieces ? variable->pieceElements() * bytesOf(variable->type) : 0;
  return bytes;
}

absl::StatusOr<std::unique_ptr<PendingSave>> Variables::beginSave(const std::string &path) {
  absl::Status status;
  if (isSaving)
    status = absl::FailedPreconditionError(
        "an earlier save of the variables is pending; finish it before you begin another");
  else if (!snapshot)
    snapshot.reset(new (std::nothrow) char[snapshotBytes()]);
  if (status.ok() && !snapshot)
    status = absl::ResourceExhaustedError(absl::StrCat("there is no memory for a copy of this rank's variables, ",
                                                       snapshotBytes(),
                                                       " bytes; save them without a copy, or run on more ranks"));
  SPLITCAST_RETURN_IF_ERROR(agree(status, kWhat));
  SPLITCAST_ASSIGN_OR_RETURN(SafetensorsWriter writer, openWriter(path));
  std::vector<PendingSave::Piece> pieces;
  int64_t at = 0;
  for (const VariableInfo *variable : stored()) {
    if (!variable->ownsPieces)
      continue;
    pieces.push_back({variable, snapshot.get() + at});
    status.Update(readPieces(*variable, snapshot.get() + at));
    at += variable->pieceElements() * bytesOf(variable->type);
  }
  SPLITCAST_RETURN_IF_ERROR(agree(status, kWhat));
  return std::unique_ptr<PendingSave>(new PendingSave(*this, std::move(writer), std::move(pieces)));
}

PendingSave::PendingSave(Variables &variables, SafetensorsWriter opened, std::vector<Piece> pieces)
    : variables(variables), writer(std::move(opened)) {
  variables.isSaving = true;
  writing = std::async(std::launch::async, [this, pieces = std::move(pieces)] {
    absl::Status status;
    for (const Piece &piece : pieces)
      for (const sbp::Run &run : piece.variable->pieces)
        if (status.ok())
          status = writer.write(piece.variable->name, run.logical,
                                piece.data + run.local * bytesOf(piece.variable->type), run.count);
    return status.ok() ? writer.flush() : status;
  });
}

PendingSave::~PendingSave() {
  if (writing.valid())
    writing.wait();
  variables.isSaving = false;
}

bool PendingSave::isWritten() const { return writing.wait_for(std::chrono::seconds(0)) == std::future_status::ready; }

absl::Status PendingSave::finish() { return variables.commit(writer, writing.get()); }

} // namespace splitcast::runtime
