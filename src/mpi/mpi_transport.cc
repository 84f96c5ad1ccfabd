#include "mpi/mpi_transport.h"

#include <fmt/format.h>

#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "core/error.h"

namespace polypath::mpi {
namespace {

// Until the process ends: nothing says when MPI no longer uses them.
void keep(std::unique_ptr<MessagesUnderWay> messages) {
  static std::mutex mutex;
  static auto& kept = *new std::vector<std::unique_ptr<MessagesUnderWay>>;
  const std::scoped_lock lock(mutex);
  kept.push_back(std::move(messages));
}

}  // namespace

MpiTransport::MpiTransport(const Library& library, Handle comm, int rank, int size)
    : Transport(rank, size),
      library_(library),
      in_mpi_(std::make_unique<MessagesUnderWay>(library, comm, rank, size)) {}

// MPI reads and writes what it has to the end.
MpiTransport::~MpiTransport() {
  if (!in_mpi_->is_empty() || (aborted_ && !has_told_)) keep(std::move(in_mpi_));
}

void MpiTransport::check_aborted() const {
  if (!aborted_) return;
  fail(ErrorCode::communicator, fmt::format("rank {} sends and receives no more", rank()),
       fmt::format("it was aborted: {}", aborted_->what()), "Start all ranks again.");
}

MessageNumber MpiTransport::ask(AskedMessage message) {
  const std::scoped_lock lock(mutex_);
  check_aborted();
  message.number = ++started_;
  under_way_.emplace(message.number, message);
  asked_.push_back(message);
  return message.number;
}

MessageNumber MpiTransport::start_sending(int to, std::uint32_t tag,
                                          std::span<const std::byte> bytes) {
  return ask({.other = to, .tag = tag, .is_sent = true, .given = bytes});
}

MessageNumber MpiTransport::start_receiving(int from, std::uint32_t tag,
                                            std::span<std::byte> bytes) {
  return ask({.other = from, .tag = tag, .taken = bytes});
}

bool MpiTransport::test(MessageNumber message) {
  const std::scoped_lock lock(mutex_);
  check_aborted();
  const auto found = under_way_.find(message);
  if (found == under_way_.end()) return true;
  const auto problem = problems_.find(found->second.other);
  if (problem == problems_.end() && !failure_) return false;
  fail(ErrorCode::communicator,
       fmt::format("rank {} has a message with {} that cannot end", rank(),
                   describe(found->second.other)),
       failure_ ? fmt::format("a rank has given up: {}", failure_->what()) : problem->second,
       "Look at what that rank has said, and start all ranks again.");
}

std::string MpiTransport::awaited(MessageNumber message) {
  const std::scoped_lock lock(mutex_);
  const auto found = under_way_.find(message);
  if (found == under_way_.end()) return "a message that is over";
  const AskedMessage& asked = found->second;
  return describe_part(asked.other, asked.is_sent, asked.size(), asked.tag);
}

// The caller frees the memory of messages then, some of which may be about to be started.
void MpiTransport::abort(const std::string& why, ErrorCode code) {
  const std::scoped_lock lock(calling_, mutex_);
  if (aborted_) return;
  in_mpi_->let_go();
  aborted_.emplace(code, why.empty() ? "no reason was given" : why);
  asked_.clear();
}

std::optional<Error> MpiTransport::failure() {
  const std::scoped_lock lock(mutex_);
  return failure_;
}

void MpiTransport::take_asked() {
  std::vector<AskedMessage> asked;
  std::optional<Error> said;
  {
    const std::scoped_lock lock(mutex_);
    asked.swap(asked_);
    busy_ += asked.size();
    said = aborted_;
  }
  for (const AskedMessage& each : asked) in_mpi_->start(each);
  if (said) in_mpi_->say(*said);
}

void MpiTransport::note(const MessagesUnderWay::News& news) {
  const std::scoped_lock lock(mutex_);
  for (const MessageNumber over : news.over) under_way_.erase(over);
  for (const auto& [other, problem] : news.problems) problems_.emplace(other, problem);
  if (!news.failures.empty() && !failure_) failure_ = news.failures.front();
}

void MpiTransport::progress() {
  const std::unique_lock calling(calling_, std::try_to_lock);
  if (!calling.owns_lock()) return;
  take_asked();
  MessagesUnderWay::News news;
  in_mpi_->look(news);
  busy_ = in_mpi_->count();
  has_told_ = in_mpi_->has_said();
  if (!news.over.empty() || !news.problems.empty() || !news.failures.empty()) note(news);
}

}  // namespace polypath::mpi
