#pragma once
// Events of the engine's own.

#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "core/ignore_errors.h"
#include "driver/driver.h"

namespace polypath::engine {

/// An event per GPU that records it, created when first asked for.
class EventSet {
 public:
  explicit EventSet(Driver& driver) : driver_(driver) {}
  EventSet(const EventSet&) = delete;
  EventSet& operator=(const EventSet&) = delete;
  ~EventSet();
  EventHandle on(PlaceId gpu);

 private:
  Driver& driver_;
  std::map<PlaceId, EventHandle> events_;
};

/// Numbered events of one GPU, created when first asked for.
class EventList {
 public:
  EventList(Driver& driver, PlaceId gpu) : driver_(driver), gpu_(gpu) {}
  EventList(const EventList&) = delete;
  EventList& operator=(const EventList&) = delete;
  ~EventList();
  EventHandle at(int number);

 private:
  Driver& driver_;
  PlaceId gpu_;
  std::vector<EventHandle> events_;
};

/// Event sets that are used for a moment, again and again. Thread-safe.
class EventPool {
 public:
  explicit EventPool(Driver& driver) : driver_(driver) {}

  /// An event that no other user has meanwhile.
  class Lease {
   public:
    explicit Lease(EventPool& pool) : pool_(pool), events_(pool.take()) {}
    Lease(const Lease&) = delete;
    Lease& operator=(const Lease&) = delete;
    ~Lease() { pool_.give_back(std::move(events_)); }
    [[nodiscard]] EventHandle on(PlaceId gpu) { return events_->on(gpu); }

   private:
    EventPool& pool_;
    std::unique_ptr<EventSet> events_;
  };

 private:
  [[nodiscard]] std::unique_ptr<EventSet> take();
  void give_back(std::unique_ptr<EventSet> events);

  Driver& driver_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<EventSet>> spare_;
};

}  // namespace polypath::engine
