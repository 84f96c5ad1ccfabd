#include "bench/jacobi_memory.h"

#include <algorithm>

#include "core/ignore_errors.h"

namespace polypath::bench {
namespace {

// Pinned memory that is given back.
class Window {
 public:
  Window(Driver& driver, PlaceId host, Bytes bytes)
      : driver_(driver), address_(driver.allocate(host, bytes)) {}
  Window(const Window&) = delete;
  Window& operator=(const Window&) = delete;
  ~Window() {
    ignore_errors([&] { driver_.free(address_); });
  }
  [[nodiscard]] Address address() const { return address_; }
  [[nodiscard]] float* values() const { return reinterpret_cast<float*>(address_.value); }

 private:
  Driver& driver_;
  Address address_;
};

}  // namespace

JacobiMemory::JacobiMemory(Driver& driver, const Machine& machine, const JacobiGrid& grid)
    : driver_(driver), grid_(grid), host_(machine.nearest_host(grid.gpus.front())) {
  for (const PlaceId gpu : grid.gpus) addresses_.push_back(driver.allocate(gpu, grid.memory()));
}

JacobiMemory::~JacobiMemory() {
  for (const Address address : addresses_) ignore_errors([&] { driver_.free(address); });
}

Address JacobiMemory::address(const Slice& slice) const {
  return addresses_[static_cast<std::size_t>(slice.buffer)] + slice.offset;
}

void JacobiMemory::copy(Address destination, PlaceId to, Address source, PlaceId from,
                        Bytes bytes) {
  const PlaceId gpu = to == host_ ? from : to;
  const StreamHandle stream = driver_.create_stream(gpu);
  driver_.copy({destination, to, source, from, bytes}, stream);
  driver_.synchronize(stream);
  driver_.destroy_stream(stream);
}

void JacobiMemory::fill() {
  const Window window(driver_, host_, grid_.memory());
  const std::uint64_t total = grid_.total_rows(), of_array = grid_.rows + 2;
  for (int gpu = 0; gpu < grid_.size(); ++gpu) {
    const std::uint64_t halo_above = static_cast<std::uint64_t>(gpu) * grid_.rows + total - 1;
    for (std::uint64_t row = 0; row < 2 * of_array; ++row)
      for (std::uint64_t c = 0; c < grid_.width; ++c)
        window.values()[row * grid_.width + c] =
            first_value((halo_above + row % of_array) % total, c);
    const Slice memory = grid_.row(gpu, 0, 0);
    copy(address(memory), grid_.gpus[static_cast<std::size_t>(gpu)], window.address(), host_,
         grid_.memory());
  }
}

std::vector<float> JacobiMemory::values(int array) {
  const Window window(driver_, host_, grid_.halo() * grid_.rows);
  std::vector<float> all;
  for (int gpu = 0; gpu < grid_.size(); ++gpu) {
    copy(window.address(), host_, address(grid_.row(gpu, array, 1)),
         grid_.gpus[static_cast<std::size_t>(gpu)], grid_.halo() * grid_.rows);
    all.insert(all.end(), window.values(), window.values() + grid_.width * grid_.rows);
  }
  return all;
}

}  // namespace polypath::bench
