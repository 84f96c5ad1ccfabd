#include "collective/rank/rank_trial.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <exception>
#include <optional>

#include "core/error.h"
#include "core/ignore_errors.h"
#include "driver/trial_bytes.h"

namespace polypath::collective {
namespace {

using Pattern = std::vector<std::byte>;

// One rank's verdict on another rank's bytes.
constexpr std::byte kArrived{0}, kLostByGpus{1}, kLostByHost{2};

// Of the bytes that rank `from` writes for rank `to`.
Pattern pattern(int from, int to) {
  return trial_bytes(static_cast<std::uint64_t>(from) << 32 | static_cast<std::uint64_t>(to));
}

// Memory of this rank with a part for each rank, and what it has opened of the others'.
class Shared {
 public:
  Shared(Driver& driver, PlaceId place, PlaceId gpu, std::size_t ranks)
      : driver_(driver),
        gpu_(gpu),
        own_(driver.allocate_zeros(place, kTrialBytes * ranks)),
        opened_(ranks) {}
  Shared(const Shared&) = delete;
  Shared& operator=(const Shared&) = delete;
  /// Memory that another rank may still use stays.
  ~Shared() { close(); }

  [[nodiscard]] ExportedMemory exported() { return driver_.export_memory(own_); }
  void open(std::size_t rank, const ExportedMemory& memory) {
    opened_[rank] = import_of_rank(driver_, static_cast<int>(rank), memory, gpu_);
  }
  [[nodiscard]] bool has_opened(std::size_t rank) const { return opened_[rank].value != 0; }
  void close() noexcept {
    for (Address& each : opened_)
      if (each.value != 0) ignore_errors([&] { driver_.release_import(each); }), each = {};
  }
  /// Once all ranks have closed it.
  void free() noexcept {
    ignore_errors([&] { driver_.free(own_); });
  }
  [[nodiscard]] Address own(std::size_t part) const { return own_ + kTrialBytes * part; }
  [[nodiscard]] Address of(std::size_t rank, std::size_t part) const {
    return opened_[rank] + kTrialBytes * part;
  }

 private:
  Driver& driver_;
  PlaceId gpu_;
  Address own_;
  std::vector<Address> opened_;  ///< by rank
};

// A stream of this rank's GPU, and memory there and of the host's that bytes go through.
class Copies {
 public:
  Copies(Driver& driver, PlaceId gpu, PlaceId host)
      : driver_(driver), gpu_(gpu), host_(host), on_gpu_(driver, gpu), on_host_(driver, host) {
    stream_ = driver.create_stream(gpu);
  }
  Copies(const Copies&) = delete;
  Copies& operator=(const Copies&) = delete;
  ~Copies() {
    ignore_errors([&] { driver_.destroy_stream(stream_); });
    on_gpu_.is_kept = on_host_.is_kept = !is_over_;
  }

  void write(const Pattern& pattern, Address to, PlaceId place) {
    std::memcpy(bytes(), pattern.data(), pattern.size());
    finish([&] {
      copy(on_gpu_.address, gpu_, on_host_.address, host_);
      copy(to, place, on_gpu_.address, gpu_);
    });
  }
  [[nodiscard]] Pattern read(Address from, PlaceId place) {
    std::memset(bytes(), 0, kTrialBytes.value);
    finish([&] {
      copy(on_gpu_.address, gpu_, from, place);
      copy(on_host_.address, host_, on_gpu_.address, gpu_);
    });
    return {bytes(), bytes() + kTrialBytes.value};
  }
  /// False if a copy may still be queued that could not be waited for.
  [[nodiscard]] bool is_over() const { return is_over_; }

 private:
  struct Memory {
    Memory(Driver& from, PlaceId place)
        : driver(from), address(from.allocate(place, kTrialBytes)) {}
    Memory(const Memory&) = delete;
    Memory& operator=(const Memory&) = delete;
    ~Memory() {
      if (!is_kept) ignore_errors([&] { driver.free(address); });
    }
    Driver& driver;
    Address address;
    bool is_kept = false;
  };

  template <class Enqueue>
  void finish(Enqueue enqueue) {
    try {
      enqueue();
      driver_.synchronize(stream_);
    } catch (...) {
      is_over_ = ignore_errors([&] { driver_.synchronize(stream_); });
      throw;
    }
  }
  [[nodiscard]] std::byte* bytes() const {
    return reinterpret_cast<std::byte*>(on_host_.address.value);
  }
  void copy(Address to, PlaceId to_place, Address from, PlaceId from_place) {
    driver_.copy({.destination = to,
                  .destination_place = to_place,
                  .source = from,
                  .source_place = from_place,
                  .bytes = kTrialBytes},
                 stream_);
  }

  Driver& driver_;
  PlaceId gpu_, host_;
  Memory on_gpu_, on_host_;
  StreamHandle stream_;
  bool is_over_ = true;
};

// A rank with an error of its own goes through all exchanges nevertheless, so that no memory is
// given back that another rank still uses.
class Trial {
 public:
  Trial(Driver& driver, const Machine& machine, const std::vector<PlaceId>& ranks, int rank,
        const AllGather& all_gather)
      : driver_(driver),
        machine_(machine),
        ranks_(ranks),
        rank_(static_cast<std::size_t>(rank)),
        all_gather_(all_gather),
        failed_(ranks.size()) {
    const PlaceId gpu = ranks[rank_];
    attempt([&] { copies_.emplace(driver, gpu, machine.nearest_host(gpu)); });
  }

  /// With memory at a place of each rank, this one's being `place`.
  void run(PlaceId place) {
    std::optional<Shared> shared;
    ExportedMemory exported;
    attempt([&] {
      shared.emplace(driver_, place, ranks_[rank_], ranks_.size());
      exported = shared->exported();
    });
    const std::vector<ExportedMemory> all = all_gather_(exported);
    attempt([&] { write(*shared, all, place); });
    (void)all_gather_({});
    attempt([&] { look(*shared, place); });
    if (shared) shared->close();
    (void)all_gather_({});
    if (shared && copies_->is_over()) shared->free();
  }

  /// The rank's own error, else the same one at all ranks. A rank that has failed says nothing of
  /// the others, nor they of it.
  void tell() {
    const std::vector<ExportedMemory> all = all_gather_(error_ ? ExportedMemory{} : failed_);
    if (error_) std::rethrow_exception(error_);
    for (std::size_t rank = 0; rank < all.size(); ++rank)
      for (std::size_t other = 0; other < all[rank].size(); ++other)
        if (all[rank][other] != kArrived && !all[other].empty())
          refuse(rank, other, all[rank][other]);
  }

 private:
  template <class Do>
  void attempt(Do what) noexcept {
    if (error_) return;
    try {
      what();
    } catch (...) {
      error_ = std::current_exception();
    }
  }
  [[nodiscard]] int me() const { return static_cast<int>(rank_); }
  [[nodiscard]] bool is_host(PlaceId place) const {
    return machine_.place(place).kind == PlaceKind::host;
  }
  [[nodiscard]] PlaceId place_of(std::size_t other, PlaceId own) const {
    return is_host(own) ? machine_.nearest_host(ranks_[other]) : ranks_[other];
  }
  [[nodiscard]] bool reaches(std::size_t from, std::size_t to) const {
    const auto hop = machine_.find_hop(ranks_[from], ranks_[to]);
    return hop && machine_.hop(*hop).kind == HopKind::peer;
  }
  // Both ways, so that two ranks open each other's memory or neither does.
  [[nodiscard]] bool is_tried(std::size_t other, PlaceId place) const {
    return other != rank_ && (is_host(place) || (reaches(rank_, other) && reaches(other, rank_)));
  }
  void write(Shared& shared, const std::vector<ExportedMemory>& all, PlaceId place) {
    copies_->write(pattern(me(), me()), shared.own(rank_), place);
    for (std::size_t other = 0; other < ranks_.size(); ++other) {
      if (!is_tried(other, place) || all.at(other).empty()) continue;
      shared.open(other, all[other]);
      copies_->write(pattern(me(), static_cast<int>(other)), shared.of(other, rank_),
                     place_of(other, place));
    }
  }
  void look(const Shared& shared, PlaceId place) {
    for (std::size_t other = 0; other < ranks_.size(); ++other) {
      if (!shared.has_opened(other)) continue;
      const int theirs = static_cast<int>(other);
      const bool arrived = copies_->read(shared.own(other), place) == pattern(theirs, me());
      const bool seen =
          copies_->read(shared.of(other, other), place_of(other, place)) == pattern(theirs, theirs);
      if (!arrived || !seen) failed_[other] = is_host(place) ? kLostByHost : kLostByGpus;
    }
  }
  [[noreturn]] void refuse(std::size_t rank, std::size_t other, std::byte lost) const {
    const std::string what =
        fmt::format("rank {} ({}) and rank {} ({}) cannot exchange bytes", other,
                    machine_.place(ranks_[other]).name, rank, machine_.place(ranks_[rank]).name);
    if (lost == kLostByHost)
      fail(ErrorCode::driver, what,
           "those of a trial in memory of the host, which GPUs write, did not arrive",
           "Turn the IOMMU off.");
    driver_.note_lost(ranks_[rank], ranks_[other]);
    fail(ErrorCode::driver, what,
         "the driver grants access, and the bytes of a trial did not arrive",
         "Start again, and they go by the host; or turn ACS or the IOMMU off ('polypath doctor' "
         "lists such GPUs).");
  }

  Driver& driver_;
  const Machine& machine_;
  const std::vector<PlaceId>& ranks_;
  std::size_t rank_;
  const AllGather& all_gather_;
  std::optional<Copies> copies_;
  std::vector<std::byte> failed_;  ///< by rank
  std::exception_ptr error_;
};

}  // namespace

void try_rank_memory(Driver& driver, const Machine& machine, const std::vector<PlaceId>& ranks,
                     int rank, PlaceId flags, const AllGather& all_gather) {
  if (ranks.size() < 2) return;
  const PlaceId gpu = ranks[static_cast<std::size_t>(rank)];
  Trial trial(driver, machine, ranks, rank, all_gather);
  trial.run(gpu);
  // Flags of one rank may be in the host's memory and another's on its GPU.
  const auto all = all_gather({static_cast<std::byte>(flags != gpu)});
  if (std::any_of(all.begin(), all.end(),
                  [](const auto& each) { return each.at(0) != std::byte{}; }))
    trial.run(machine.nearest_host(gpu));
  trial.tell();
}

}  // namespace polypath::collective
