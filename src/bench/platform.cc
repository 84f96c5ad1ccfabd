#include "bench/platform.h"

#include <algorithm>
#include <cstring>

#include "model/burst_credit.h"

namespace polypath::bench {
namespace {

unsigned char* bytes_at(Address address) { return reinterpret_cast<unsigned char*>(address.value); }

// Different in every word and for every seed, so that a misplaced chunk cannot go unnoticed.
void write_pattern(unsigned char* data, Bytes bytes, std::uint64_t seed) {
  std::uint64_t word = seed * 0x9e3779b97f4a7c15ULL + 1;
  std::uint64_t i = 0;
  for (; i + 8 <= bytes.value; i += 8, word += 0x9e3779b97f4a7c15ULL) {
    const std::uint64_t mixed = word ^ (word >> 29);
    std::memcpy(data + i, &mixed, 8);
  }
  std::memcpy(data + i, &word, bytes.value - i);
}

class SimulatedPlatform final : public Platform {
 public:
  explicit SimulatedPlatform(OpenMachine machine)
      : Platform(std::move(machine)),
        driver_(*opened().simulator()),
        rest_(rest_of(opened().machine())) {}

  void use_lane(std::size_t lane) override { driver_.use_host_thread(lane); }
  void align_lanes() override { driver_.align_host_threads(); }
  void rest() override { driver_.pass_time(rest_); }
  void lanes_at_once(bool several) override { driver_.hold_up_threads(several); }
  void fill(Address address, Bytes bytes, std::uint64_t seed) override {
    write_pattern(bytes_at(address), bytes, seed);
  }
  bool same(Address a, Address b, Bytes bytes) override {
    return std::memcmp(bytes_at(a), bytes_at(b), bytes.value) == 0;
  }
  std::vector<std::string> violations() override { return driver_.violations(); }
  std::vector<sim::Span> trace() override { return driver_.trace(); }

 private:
  sim::SimDriver& driver_;
  Seconds rest_;
};

// Device memory is filled and read in pieces through two pinned ones.
class GpuPlatform final : public Platform {
 public:
  explicit GpuPlatform(OpenMachine gpus)
      : Platform(std::move(gpus)),
        gpu_(machine().places_of(PlaceKind::gpu).front()),
        stream_(driver().create_stream(gpu_)) {
    const PlaceId host = machine().nearest_host(gpu_);
    for (Address& piece : pieces_) piece = driver().allocate(host, kPiece);
  }
  ~GpuPlatform() override {
    try {
      for (const Address piece : pieces_) driver().free(piece);
      driver().destroy_stream(stream_);
    } catch (const std::exception&) {
      // The driver is going down; its memory goes with it.
    }
  }

  void fill(Address address, Bytes bytes, std::uint64_t seed) override {
    in_pieces(bytes, [&](Bytes offset, Bytes size) {
      write_pattern(bytes_at(pieces_[0]), size, seed + offset.value);
      copy(address + offset, pieces_[0], size);
      return true;
    });
  }

  bool same(Address a, Address b, Bytes bytes) override {
    return in_pieces(bytes, [&](Bytes offset, Bytes size) {
      copy(pieces_[0], a + offset, size);
      copy(pieces_[1], b + offset, size);
      return std::memcmp(bytes_at(pieces_[0]), bytes_at(pieces_[1]), size.value) == 0;
    });
  }

 private:
  static constexpr Bytes kPiece = 64_MiB;

  template <class Action>
  bool in_pieces(Bytes bytes, Action action) {
    for (Bytes offset; offset < bytes; offset += kPiece)
      if (!action(offset, std::min(kPiece, bytes - offset))) return false;
    return true;
  }

  void copy(Address destination, Address source, Bytes bytes) {
    driver().copy_native({.destination = destination, .source = source, .bytes = bytes}, stream_);
    driver().synchronize(stream_);
  }

  PlaceId gpu_;
  StreamHandle stream_;
  Address pieces_[2];
};

}  // namespace

std::unique_ptr<Platform> make_platform(OpenMachine opened) {
  if (opened.simulated()) return std::make_unique<SimulatedPlatform>(std::move(opened));
  return std::make_unique<GpuPlatform>(std::move(opened));
}

}  // namespace polypath::bench
