#include "runtime/tcp/TcpHandshake.h"

#include "runtime/api/StatusMacros.h"

#include "absl/strings/str_cat.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace splitcast::runtime {
namespace {

/// The first bytes of a connection, without an end. The last one is the
/// protocol's version.
constexpr absl::string_view kProtocol = "splitcast rank 3";

struct Greeting {
  char protocol[16];
  Membership self;
  uint64_t hasSecret;
  Digest nonce;
};
static_assert(sizeof(Greeting) == 96, "a greeting has the same bytes on all ranks");
static_assert(kProtocol.size() == sizeof(Greeting::protocol), "it fills its place");

constexpr absl::string_view kWelcome = "+";

constexpr int64_t kGreetingBytes = sizeof(Greeting), kProofBytes = sizeof(Digest), kWelcomeBytes = kWelcome.size();

absl::string_view textOf(const Digest &digest) {
  return {reinterpret_cast<const char *>(digest.data()), digest.size()};
}

/// Checks as much of the protocol's name as has arrived, so that what speaks
/// another protocol is found even if it sends little.
absl::Status checkProtocol(absl::string_view input) {
  const absl::string_view begin = input.substr(0, kProtocol.size());
  if (begin == kProtocol.substr(0, begin.size()))
    return absl::OkStatus();
  const absl::string_view name = kProtocol.substr(0, kProtocol.size() - 1);
  if (begin.substr(0, name.size()) == name)
    return absl::NotFoundError("it is a rank of another version of Splitcast; use the same version on all ranks");
  return absl::NotFoundError("it is no rank of Splitcast");
}

} // namespace

absl::StatusOr<Handshake> Handshake::begin(Side side, const Membership &self, const std::string &secret) {
  Handshake made;
  made.side = side;
  made.secret = secret;
  Greeting greeting = {{}, self, secret.empty() ? uint64_t{0} : 1, {}};
  std::copy(kProtocol.begin(), kProtocol.end(), greeting.protocol);
  SPLITCAST_ASSIGN_OR_RETURN(greeting.nonce, drawNonce());
  made.ownGreeting.assign(reinterpret_cast<const char *>(&greeting), sizeof(greeting));
  if (side == Side::Connects)
    made.output = made.ownGreeting;
  return made;
}

std::string Handshake::takeOutput() { return std::exchange(output, {}); }

int64_t Handshake::wanted() const {
  const int64_t next = done ? 0 : theirGreeting.empty() ? kGreetingBytes : theyHaveProved ? kWelcomeBytes : kProofBytes;
  return next - static_cast<int64_t>(input.size());
}

absl::Status Handshake::take(absl::string_view bytes) {
  if (static_cast<int64_t>(bytes.size()) > wanted())
    return absl::NotFoundError("it sends more than a rank does");
  absl::StrAppend(&input, bytes);
  if (theirGreeting.empty())
    SPLITCAST_RETURN_IF_ERROR(checkProtocol(input));
  if (done || wanted() > 0)
    return absl::OkStatus();
  return theirGreeting.empty() ? takeGreeting() : theyHaveProved ? takeWelcome() : takeProof();
}

absl::Status Handshake::takeGreeting() {
  theirGreeting = std::exchange(input, {});
  Greeting greeting;
  std::memcpy(&greeting, theirGreeting.data(), sizeof(greeting));
  other = greeting.self;
  theyHaveSecret = greeting.hasSecret != 0;
  if (side == Side::Accepts)
    output = absl::StrCat(ownGreeting, textOf(proofOf(Side::Accepts)));
  return absl::OkStatus();
}

absl::Status Handshake::takeProof() {
  Digest given;
  std::memcpy(given.data(), input.data(), sizeof(given));
  input.clear();
  if (side == Side::Connects)
    output = std::string(textOf(proofOf(Side::Connects)));
  if (isSame(given, proofOf(side == Side::Connects ? Side::Accepts : Side::Connects))) {
    theyHaveProved = true;
    done = side == Side::Accepts;
    if (done)
      output = std::string(kWelcome);
    return absl::OkStatus();
  }
  const bool isMissing = secret.empty() || !theyHaveSecret;
  return absl::PermissionDeniedError(
      absl::StrCat(!isMissing       ? "it has another secret"
                   : theyHaveSecret ? "it has a secret, and this rank has none"
                   : secret.empty() ? "it does not keep to the protocol"
                                    : "it has no secret, and this rank has one",
                   "; give all ranks of a job the same SPLITCAST_SECRET or SPLITCAST_SECRET_FILE"));
}

absl::Status Handshake::takeWelcome() {
  done = input == kWelcome;
  return done ? absl::OkStatus() : absl::NotFoundError("it does not keep to the protocol");
}

Digest Handshake::proofOf(Side prover) const {
  const bool connects = side == Side::Connects;
  return authenticate(secret,
                      absl::StrCat(prover == Side::Connects ? "connects" : "accepts",
                                   connects ? ownGreeting : theirGreeting, connects ? theirGreeting : ownGreeting));
}

} // namespace splitcast::runtime
