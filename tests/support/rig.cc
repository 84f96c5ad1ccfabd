#include "support/rig.h"

#include <algorithm>
#include <cstring>

#include "machine/load_machine.h"

namespace polypath::test {

Settings small_settings() {
  Settings settings;
  settings.min_message = 512_B;
  settings.min_chunk = 512_B;
  settings.staging_slot = 4_KiB;
  settings.staging_slots = 3;
  settings.log_level = "off";
  return settings;
}

Settings window_settings() {
  Settings settings = small_settings();
  settings.pageable_min = 512_B;
  settings.pageable_window = 64_KiB;
  settings.copy_threads = 3;
  return settings;
}

PlanOptions forced(const std::vector<std::string>& paths, std::optional<Executor> executor) {
  PlanOptions options;
  for (const std::string& path : paths) {
    options.shares[path] = 1.0 / static_cast<double>(paths.size());
    if (path != "direct") options.chunks[path] = 5;
  }
  options.executor = executor;
  return options;
}

PlanOptions over_all_paths(const Machine& machine, const std::string& source,
                           const std::string& destination, std::optional<Executor> executor) {
  std::vector<std::string> names;
  for (const Path& path :
       find_paths(machine, machine.find_place(source), machine.find_place(destination)))
    names.push_back(name_of(machine, path));
  return forced(names, executor);
}

Rig::Rig(const std::string& machine, const Settings& settings)
    : Rig(load_machine(machine), settings) {}

Rig::Rig(const Machine& machine, const Settings& settings)
    : settings_(settings),
      driver_(machine),
      used_(&driver_),
      load_(std::make_shared<LoadTracker>(machine)) {
  settings_.log_level = "off";
  add_engine();
}

Rig::~Rig() {
  if (!closed_) close();
}

void Rig::use(Driver& driver) {
  used_ = &driver;
  engines_.clear();
  add_engine();
}

void Rig::add_engine() {
  engines_.push_back(std::make_unique<Engine>(*used_, machine(), settings_, load_));
}

Buffer& Rig::buffer(const std::string& place, std::size_t bytes) {
  const PlaceId id = machine().find_place(place);
  Buffer& buffer = buffers_.emplace_back(
      Buffer{id, driver_.allocate(id, Bytes{bytes}), pattern(bytes, ++seed_), {}});
  std::memcpy(reinterpret_cast<void*>(buffer.address.value), buffer.expected.data(), bytes);
  return buffer;
}

Buffer& Rig::pageable_buffer(std::size_t bytes) {
  Buffer& buffer =
      buffers_.emplace_back(Buffer{machine().find_place("host"), {}, pattern(bytes, ++seed_), {}});
  buffer.ordinary = buffer.expected;
  buffer.address = {reinterpret_cast<std::uintptr_t>(buffer.ordinary.data())};
  driver_.add_pageable(buffer.address, Bytes{bytes});
  return buffer;
}

void Rig::free(Buffer& buffer) {
  if (buffer.ordinary.empty()) driver_.free(buffer.address);
  else driver_.remove_pageable(buffer.address);
  buffer.address = {};
  buffer.expected.clear();
}

StreamHandle Rig::stream(const std::string& gpu) {
  const PlaceId place = machine().find_place(gpu);
  const StreamHandle stream = driver_.create_stream(place);
  streams_[stream] = place;
  return stream;
}

CopyCall Rig::call(const Buffer& destination, std::size_t to, const Buffer& source,
                   std::size_t from, std::size_t bytes, StreamHandle stream,
                   const PlanOptions& options) const {
  return {destination.address + Bytes{to},
          source.address + Bytes{from},
          Bytes{bytes},
          stream,
          streams_.at(stream),
          options};
}

CopyResult Rig::copy(Buffer& destination, std::size_t to, const Buffer& source, std::size_t from,
                     std::size_t bytes, StreamHandle stream, const PlanOptions& options,
                     std::size_t engine) {
  const CopyResult result =
      engines_.at(engine)->copy(call(destination, to, source, from, bytes, stream, options));
  std::copy_n(source.expected.begin() + static_cast<std::ptrdiff_t>(from), bytes,
              destination.expected.begin() + static_cast<std::ptrdiff_t>(to));
  return result;
}

CopyResult Rig::copy(Buffer& destination, const Buffer& source, StreamHandle stream,
                     const PlanOptions& options) {
  return copy(destination, 0, source, 0, source.expected.size(), stream, options);
}

testing::AssertionResult Rig::intact(const Buffer& buffer) {
  const auto* begin = reinterpret_cast<const unsigned char*>(buffer.address.value);
  if (buffer.expected.empty() ||
      std::memcmp(begin, buffer.expected.data(), buffer.expected.size()) == 0)
    return testing::AssertionSuccess();
  return same_bytes({begin, begin + buffer.expected.size()}, buffer.expected);
}

testing::AssertionResult Rig::intact() {
  synchronize();
  for (std::size_t i = 0; i < buffers_.size(); ++i) {
    const auto same = intact(buffers_[i]);
    if (!same)
      return testing::AssertionFailure()
             << "buffer " << i << " at " << machine().place(buffers_[i].place).name << ": "
             << same.message();
  }
  return testing::AssertionSuccess();
}

void Rig::synchronize() {
  for (const auto& [stream, gpu] : streams_) driver_.synchronize(stream);
}

std::vector<std::string> Rig::close() {
  closed_ = true;
  engines_.clear();
  synchronize();
  for (const auto& [stream, gpu] : streams_) driver_.destroy_stream(stream);
  for (Buffer& buffer : buffers_)
    if (buffer.address.value != 0) free(buffer);
  std::vector<std::string> complaints = driver_.violations();
  for (const std::string& leak : driver_.leaks()) complaints.push_back("leaked: " + leak);
  return complaints;
}

}  // namespace polypath::test
