#include "collective/support/rank_group.h"

#include <barrier>
#include <exception>
#include <thread>
#include <utility>

#include "collective/support/ranks.h"
#include "support/layers.h"

namespace polypath::test {
namespace {

// As many threads meet twice: when all have said theirs, and when all have read it.
struct Exchange {
  explicit Exchange(std::size_t ranks) : said(ranks), barrier(static_cast<std::ptrdiff_t>(ranks)) {}
  std::vector<ExportedMemory> said;
  std::barrier<> barrier;
};

AllGather exchange_of(std::shared_ptr<Exchange> meeting, std::size_t rank) {
  return [meeting = std::move(meeting), rank](const ExportedMemory& own) {
    meeting->said[rank] = own;
    meeting->barrier.arrive_and_wait();
    std::vector<ExportedMemory> all = meeting->said;
    meeting->barrier.arrive_and_wait();
    return all;
  };
}

}  // namespace

RankPrograms divide(const Machine& machine, const Program& program,
                    const std::vector<PlaceId>& ranks, Executor executor) {
  const EntryAwaits entries =
      executor == Executor::graph ? EntryAwaits::at_first : EntryAwaits::where_needed;
  RankPrograms programs;
  for (RankPart& part : project(machine, program, ranks, RankMemorySizes{}.flags_per_pair, entries))
    programs.push_back(std::make_unique<RankProgram>(std::move(part), executor));
  return programs;
}

RankGroup::RankGroup(const Machine& machine, std::vector<PlaceId> ranks, sim::Options options)
    : RankGroup(machine, std::move(ranks), options, collective_settings()) {}

RankGroup::RankGroup(const Machine& machine, std::vector<PlaceId> ranks, sim::Options options,
                     const Settings& settings)
    : driver_(machine, options), ranks_(std::move(ranks)), runs_(ranks_.size()) {
  const auto meeting = std::make_shared<Exchange>(ranks_.size());
  for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
    streams_.push_back(driver_.create_stream(ranks_[rank]));
    exchanges_.push_back(exchange_of(meeting, rank));
  }
  on_all([&](int rank) {
    runs_[index(rank)] = std::make_unique<RankRun>(
        driver_, driver_.machine(), settings,
        RankRun::Group{.ranks = ranks_,
                       .rank = rank,
                       .all_gather = exchanges_[index(rank)],
                       .tell = [this](const Error&) { return ++told_ > 0; }});
  });
}

RankGroup::~RankGroup() { (void)close(); }

void RankGroup::on_all(const std::function<void(int rank)>& what) {
  std::vector<std::exception_ptr> errors(ranks_.size());
  {
    std::vector<std::jthread> threads;
    for (int rank = 0; rank < size(); ++rank)
      threads.emplace_back([&, rank] {
        try {
          what(rank);
        } catch (...) {
          errors[index(rank)] = std::current_exception();
        }
      });
  }
  for (const std::exception_ptr& error : errors)
    if (error) std::rethrow_exception(error);
}

void RankGroup::prepare(const RankPrograms& programs) {
  on_all([&](int rank) { run_of(rank).prepare(*programs[index(rank)]); });
}

void RankGroup::enqueue(int rank, const RankPrograms& programs, std::span<const Address> buffers,
                        Seconds later) {
  driver_.use_host_thread(index(rank));
  driver_.pass_time(later);
  run_of(rank).run(*programs[index(rank)], buffers, stream_of(rank));
}

Seconds RankGroup::synchronize() {
  Seconds last;
  for (int rank = 0; rank < size(); ++rank) {
    driver_.use_host_thread(index(rank));
    driver_.synchronize(stream_of(rank));
    last = std::max(last, driver_.now());
  }
  return last;
}

int RankGroup::flags_set() const {
  int set = 0;
  for (const auto& run : runs_)
    for (Bytes offset; offset < run->memory().flag_bytes(); offset += kFlagBytes) {
      const Address word = run->memory().flags() + offset;
      set += *reinterpret_cast<const std::uint32_t*>(word.value) != 0 ? 1 : 0;
    }
  return set;
}

std::vector<std::string> RankGroup::close() {
  if (closed_) return {};
  closed_ = true;
  runs_.clear();
  for (const StreamHandle stream : streams_) driver_.destroy_stream(stream);
  std::vector<std::string> wrong = driver_.violations();
  for (std::string& leak : driver_.leaks()) wrong.push_back("leaked: " + leak);
  return wrong;
}

}  // namespace polypath::test
