#pragma once
// How a stream and a proxy's thread wait for each other: an event says that an exchange is ready,
// a word of its slot, in pinned memory, that it is over.

#include <cstdint>
#include <mutex>
#include <vector>

#include "driver/driver.h"

namespace polypath::collective {

/// Events of a GPU, used again and again. Thread-safe.
class ReadyEvents {
 public:
  ReadyEvents(Driver& driver, PlaceId gpu) : driver_(driver), gpu_(gpu) {}
  ReadyEvents(const ReadyEvents&) = delete;
  ReadyEvents& operator=(const ReadyEvents&) = delete;
  ~ReadyEvents();

  [[nodiscard]] EventHandle take();
  void give_back(EventHandle event);

 private:
  Driver& driver_;
  PlaceId gpu_;
  std::mutex mutex_;
  std::vector<EventHandle> free_;
};

/// A word for each slot. write() is of the proxy's thread, the others of the program's.
class SlotWords {
 public:
  /// In the memory of a host. Errors of the driver.
  SlotWords(Driver& driver, PlaceId host, int slots);
  SlotWords(const SlotWords&) = delete;
  SlotWords& operator=(const SlotWords&) = delete;
  /// They must not be waited for any more.
  ~SlotWords();

  /// The number of the slot's next exchange.
  [[nodiscard]] std::uint32_t next(int slot) { return ++numbers_[static_cast<std::size_t>(slot)]; }
  /// Later work in the stream comes after the slot's last exchange.
  void await(int slot, StreamHandle stream);
  void write(int slot, std::uint32_t number);

 private:
  [[nodiscard]] Address word(int slot) const;

  Driver& driver_;
  PlaceId host_;
  Address words_;
  std::vector<std::uint32_t> numbers_;  ///< of the slots' last exchanges
};

}  // namespace polypath::collective
