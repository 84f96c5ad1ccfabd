#include "bench/operation_run.h"

#include <algorithm>
#include <atomic>
#include <future>
#include <thread>

#include "bench/pieces.h"

namespace polypath::bench {

OperationRun::OperationRun(OpenMachine opened, const Operation& operation, Bytes bytes)
    : platform_(make_platform(std::move(opened))),
      operation_(operation),
      bytes_(bytes),
      results_(operation.lanes.size()) {
  Driver& driver = platform_->driver();
  for (const Lane& lane : operation.lanes) {
    const PlaceId gpu = gpu_of(lane);
    if (engines_.empty() || !operation.together)
      engines_.emplace_back(new Engine(platform_->opened().make_engine()));
    buffers_.push_back(
        {allocate(lane.source), allocate(lane.destination), driver.create_stream(gpu), gpu});
    if (!operation.together) platform_->use_lane(buffers_.size() - 1);
  }
}

OperationRun::~OperationRun() {
  Driver& driver = platform_->driver();
  for (std::size_t lane = 0; lane < buffers_.size(); ++lane) {
    const Buffers& buffers = buffers_[lane];
    driver.synchronize(buffers.stream);
    free(operation_.lanes[lane].source, buffers.source);
    free(operation_.lanes[lane].destination, buffers.destination);
    driver.destroy_stream(buffers.stream);
  }
}

bool OperationRun::in_pageable_memory(PlaceId place) const {
  return operation_.pageable && platform_->machine().place(place).kind == PlaceKind::host;
}

Address OperationRun::allocate(PlaceId place) {
  if (!in_pageable_memory(place)) return platform_->driver().allocate(place, buffer_bytes());
  auto* memory = new unsigned char[bytes_.value];
  std::fill_n(memory, bytes_.value, 1);  // so that the system has given its pages
  return {reinterpret_cast<std::uintptr_t>(memory)};
}

void OperationRun::free(PlaceId place, Address address) {
  if (!in_pageable_memory(place)) return platform_->driver().free(address);
  delete[] reinterpret_cast<unsigned char*>(address.value);
}

// The GPU that would do the native copy.
PlaceId OperationRun::gpu_of(const Lane& lane) const {
  const Machine& machine = platform_->machine();
  return machine.place(lane.source).kind == PlaceKind::gpu ? lane.source : lane.destination;
}

CopyCall OperationRun::call_of(std::size_t lane, const PlanOptions& options,
                               std::size_t piece) const {
  const Buffers& buffers = buffers_[lane];
  return {buffers.destination + bytes_ * block_of(piece, operation_.pieces),
          buffers.source + bytes_ * piece,
          bytes_,
          buffers.stream,
          buffers.gpu,
          options};
}

void OperationRun::copy(std::size_t lane, const PlanOptions& options, bool first) {
  const CopyResult result = engines_[lane]->copy(call_of(lane, options));
  if (first) results_[lane] = result;
}

std::vector<CopyCall> OperationRun::all_calls(const PlanOptions& options) const {
  std::vector<CopyCall> calls;
  for (std::size_t lane = 0; lane < buffers_.size(); ++lane)
    for (std::size_t piece = 0; piece < operation_.pieces; ++piece)
      calls.push_back(call_of(lane, options, piece));
  return calls;
}

void OperationRun::copy_together(const std::vector<CopyCall>& calls, bool first) {
  const std::vector<CopyResult> results = engine().copy_many(calls);
  for (std::size_t lane = 0; first && lane < buffers_.size(); ++lane)
    results_[lane] = results[lane * operation_.pieces];
}

void OperationRun::copy_by_driver(const CopyCall& call, const Lane& ends) {
  platform_->driver().copy_native(
      {call.destination, call.source, bytes_, {}, ends.destination, ends.source}, call.stream);
}

Seconds OperationRun::run(const PlanOptions& options, int window) {
  if (operation_.together) {
    const std::vector<CopyCall> calls = all_calls(options);
    return time_together(window, [&](bool first) { copy_together(calls, first); });
  }
  return time(window, [&](std::size_t lane, bool first) { copy(lane, options, first); });
}

Seconds OperationRun::run_driver(int window) {
  if (operation_.together) {
    const std::vector<CopyCall> calls = all_calls({});
    return time_together(window, [&](bool) {
      for (std::size_t number = 0; number < calls.size(); ++number)
        copy_by_driver(calls[number], operation_.lanes[number / operation_.pieces]);
    });
  }
  return time(window, [&](std::size_t lane, bool) {
    copy_by_driver(call_of(lane, {}), operation_.lanes[lane]);
  });
}

template <class Copy>
Seconds OperationRun::time(int window, Copy copy) {
  const bool at_once = by_threads(operation_);
  if (platform_->real() && at_once) return time_by_threads(window, copy);
  platform_->lanes_at_once(at_once);
  const Seconds time = time_by_turns(window, copy);
  platform_->lanes_at_once(false);
  return time;
}

// One thread calls for all lanes; on a simulated machine it plays each lane's own in turn.
template <class Copy>
Seconds OperationRun::time_by_turns(int window, Copy copy) {
  Driver& driver = platform_->driver();
  platform_->rest();
  platform_->align_lanes();
  const Seconds start = driver.now();
  for (int i = 0; i < window; ++i)
    for (std::size_t lane = 0; lane < buffers_.size(); ++lane) {
      if (!operation_.in_turn) platform_->use_lane(lane);
      copy(lane, i == 0);
      if (operation_.in_turn) driver.synchronize(buffers_[lane].stream);
    }
  for (std::size_t lane = 0; lane < buffers_.size() && !operation_.in_turn; ++lane) {
    platform_->use_lane(lane);
    driver.synchronize(buffers_[lane].stream);
  }
  platform_->align_lanes();
  return driver.now() - start;
}

// Each lane is a thread, as ranks are processes: they start together, and the last one counts.
template <class Copy>
Seconds OperationRun::time_by_threads(int window, Copy copy) {
  Driver& driver = platform_->driver();
  std::atomic<bool> started{false};
  std::atomic<std::size_t> ready{0};
  std::vector<std::future<Seconds>> lanes;
  for (std::size_t lane = 0; lane < buffers_.size(); ++lane)
    lanes.push_back(std::async(std::launch::async, [&, lane] {
      ++ready;
      while (!started) std::this_thread::yield();
      for (int i = 0; i < window; ++i) copy(lane, i == 0);
      driver.synchronize(buffers_[lane].stream);
      return driver.now();
    }));
  while (ready < lanes.size()) std::this_thread::yield();
  const Seconds start = driver.now();
  started = true;
  Seconds end = start;
  for (auto& lane : lanes) lane.wait();
  for (auto& lane : lanes) end = std::max(end, lane.get());
  return end - start;
}

// One thread calls for all and then waits for all: the last copy counts.
template <class CopyAll>
Seconds OperationRun::time_together(int window, CopyAll copy_all) {
  Driver& driver = platform_->driver();
  platform_->rest();
  const Seconds start = driver.now();
  for (int i = 0; i < window; ++i) copy_all(i == 0);
  for (const Buffers& buffers : buffers_) driver.synchronize(buffers.stream);
  return driver.now() - start;
}

std::uint64_t OperationRun::instantiations() const {
  std::uint64_t sum = 0;
  for (const auto& engine : engines_) sum += engine->statistics().graph_instantiations;
  return sum;
}

void OperationRun::fill() {
  for (std::size_t lane = 0; lane < buffers_.size(); ++lane) {
    platform_->fill(buffers_[lane].source, buffer_bytes(), 2 * lane);
    platform_->fill(buffers_[lane].destination, buffer_bytes(), 2 * lane + 1);
  }
}

bool OperationRun::verify() {
  for (std::size_t lane = 0; lane < buffers_.size(); ++lane)
    for (std::size_t piece = 0; piece < operation_.pieces; ++piece) {
      const CopyCall call = call_of(lane, {}, piece);
      if (!platform_->same(call.source, call.destination, bytes_)) return false;
    }
  return true;
}

}  // namespace polypath::bench
