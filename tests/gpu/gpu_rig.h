#pragma once
// An engine on this computer's GPUs, with buffers whose contents are known. Skips the test where
// there are fewer than two GPUs.

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "context/open.h"
#include "engine/engine.h"
#include "support/bytes.h"
#include "support/random.h"

namespace polypath::test {

/// Memory of a place and what it must contain.
struct GpuBuffer {
  PlaceId place;
  Address address;
  Contents expected;
  bool pageable = false;
};

class GpuTest : public testing::Test {
 protected:
  void SetUp() override {
    Settings settings;
    settings.machine = "";
    const ChosenMachine chosen = choose_machine("", settings);
    if (chosen.simulated || chosen.machine.places_of(PlaceKind::gpu).size() < 2)
      GTEST_SKIP() << "there are not two GPUs here";
    opened_ = open_machine(chosen, settings);
    stream_ = driver().create_stream(machine().places_of(PlaceKind::gpu).front());
  }

  void TearDown() override {
    if (!opened_) return;
    for (GpuBuffer& buffer : buffers_) release(buffer);
    for (const StreamHandle stream : streams_) driver().destroy_stream(stream);
    if (stream_.value != 0) driver().destroy_stream(stream_);
  }

  [[nodiscard]] const Machine& machine() const { return opened_->machine(); }
  Driver& driver() { return opened_->driver(); }

  StreamHandle stream(PlaceId gpu) {
    streams_.push_back(driver().create_stream(gpu));
    return streams_.back();
  }

  /// Random contents. Pageable memory is the program's own.
  std::size_t buffer(PlaceId place, std::size_t bytes, std::uint64_t seed, bool pageable = false) {
    GpuBuffer made{place, {}, pattern(bytes, seed), pageable};
    if (pageable) made.address = {reinterpret_cast<std::uintptr_t>(new unsigned char[bytes])};
    else made.address = driver().allocate(place, Bytes{bytes});
    write(made.address, made.expected);
    buffers_.push_back(std::move(made));
    return buffers_.size() - 1;
  }

  void write(Address address, const Contents& contents) {
    move(address, {reinterpret_cast<std::uintptr_t>(contents.data())}, contents.size());
  }

  Contents read(Address address, std::size_t bytes) {
    Contents contents(bytes);
    move({reinterpret_cast<std::uintptr_t>(contents.data())}, address, bytes);
    return contents;
  }

  /// Compares every byte of every buffer.
  testing::AssertionResult intact() {
    for (std::size_t i = 0; i < buffers_.size(); ++i)
      if (read(buffers_[i].address, buffers_[i].expected.size()) != buffers_[i].expected)
        return testing::AssertionFailure() << "buffer " << i << " is not what it must be";
    return testing::AssertionSuccess();
  }

  std::optional<OpenMachine> opened_;
  std::vector<GpuBuffer> buffers_;
  std::vector<StreamHandle> streams_;
  StreamHandle stream_;

 private:
  void release(GpuBuffer& buffer) {
    if (buffer.pageable) delete[] reinterpret_cast<unsigned char*>(buffer.address.value);
    else driver().free(buffer.address);
  }

  void move(Address destination, Address source, std::size_t bytes) {
    if (bytes == 0) return;
    driver().copy_native({destination, source, Bytes{bytes}, {}}, stream_);
    driver().synchronize(stream_);
  }
};

}  // namespace polypath::test
