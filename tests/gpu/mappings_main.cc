// Memory at virtual addresses that one process maps and hands to another one, as ranks do; on GPUs,
// or over the stand-in.
//
//   polypath_mappings
//
// Says "right", or what is wrong first.

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "context/open.h"
#include "core/error.h"
#include "driver/cuda/cuda_api.h"
#include "driver/cuda/cuda_types.h"
#include "support/layers.h"

namespace polypath::test {
namespace {

constexpr std::size_t kPiece = std::size_t{2} << 20;
constexpr std::size_t kPieces = 5;
constexpr std::size_t kBegin = kPiece / 2, kBytes = 2 * kPiece;  // in three pieces

using Contents = std::vector<unsigned char>;

Contents pattern(unsigned seed, std::size_t bytes) {
  Contents contents(bytes);
  for (std::size_t i = 0; i < bytes; ++i)
    contents[i] = static_cast<unsigned char>((i * 2654435761U + seed) >> 11);
  return contents;
}

void expect(bool right, const char* what) {
  if (right) return;
  std::printf("wrong: %s\n", what);
  std::fflush(stdout);
  std::_Exit(1);
}

template <class Call>
bool fails(Call call) {
  try {
    call();
  } catch (const Error&) {
    return true;
  }
  return false;
}

/// Two ends of a conversation between parent and child.
class Line {
 public:
  Line() { expect(pipe(down_.data()) == 0 && pipe(up_.data()) == 0, "there is no pipe"); }
  void say(bool child, const ExportedMemory& message) const {
    const std::size_t size = message.size();
    const int to = child ? up_[1] : down_[1];
    expect(write(to, &size, sizeof size) == sizeof size, "nothing is heard");
    expect(write(to, message.data(), size) == static_cast<ssize_t>(size), "nothing is heard");
  }
  [[nodiscard]] ExportedMemory hear(bool child) const {
    std::size_t size = 0;
    const int from = child ? down_[0] : up_[0];
    expect(read(from, &size, sizeof size) == sizeof size, "nothing is said");
    ExportedMemory message(size);
    expect(read(from, message.data(), size) == static_cast<ssize_t>(size), "nothing is said");
    return message;
  }

 private:
  std::array<int, 2> down_{}, up_{};
};

class Process {
 public:
  explicit Process(bool last_gpu) : opened_(open()) {
    for (const Place& place : opened_.machine().places)
      if (place.kind == PlaceKind::gpu && (last_gpu || !gpu_.valid()))
        gpu_ = opened_.machine().find_place(place.name);
    stream_ = driver().create_stream(gpu_);
  }

  [[nodiscard]] Driver& driver() const { return opened_.driver(); }
  [[nodiscard]] PlaceId gpu() const { return gpu_; }

  void write(Address to, const Contents& contents) const {
    copy(to, {reinterpret_cast<std::uintptr_t>(contents.data())}, contents.size());
  }
  [[nodiscard]] Contents read(Address from, std::size_t bytes) const {
    Contents contents(bytes);
    copy({reinterpret_cast<std::uintptr_t>(contents.data())}, from, bytes);
    return contents;
  }

 private:
  static OpenMachine open() {
    const ChosenMachine chosen = choose_machine("", {});
    expect(!chosen.simulated, "there is no GPU");
    return open_machine(chosen, {});
  }
  void copy(Address to, Address from, std::size_t bytes) const {
    driver().copy_native({.destination = to, .source = from, .bytes = {bytes}}, stream_);
    driver().synchronize(stream_);
  }

  OpenMachine opened_;
  PlaceId gpu_;
  StreamHandle stream_;
};

/// Memory of the first GPU, in pieces, open to that GPU only.
class Pieces {
 public:
  explicit Pieces(int handle_types) : handle_types_(handle_types) {
    check(cuda().address_reserve(&base_, (kPieces + 1) * kPiece, 0, 0, 0), "cuMemAddressReserve");
    for (std::size_t piece = 0; piece < kPieces; ++piece) map(piece);
  }

  [[nodiscard]] Address at(std::size_t offset) const { return {base_ + offset}; }
  /// Other memory in place of a piece.
  void replace(std::size_t piece) {
    check(cuda().memory_unmap(base_ + piece * kPiece, kPiece), "cuMemUnmap");
    check(cuda().memory_release(memories_[piece]), "cuMemRelease");
    map(piece);
  }

 private:
  static const cuda::Functions& cuda() { return cuda::functions(); }
  static void check(cuda::Result result, const char* call) { cuda::check(result, call); }
  void map(std::size_t piece) {
    cuda::MemoryProperties wanted;
    wanted.handle_types = handle_types_;
    const cuda::MemoryUser user;
    check(cuda().memory_create(&memories_[piece], kPiece, &wanted, 0), "cuMemCreate");
    const cuda::DevicePointer begin = base_ + piece * kPiece;
    check(cuda().memory_map(begin, kPiece, 0, memories_[piece], 0), "cuMemMap");
    check(cuda().memory_open(begin, kPiece, &user, 1), "cuMemSetAccess");
  }

  int handle_types_;
  cuda::DevicePointer base_ = 0;
  std::array<std::uint64_t, kPieces> memories_{};
};

void export_pieces(const Line& line) {
  const Process process(false);
  Driver& driver = process.driver();
  Pieces pieces(cuda::kFileHandles);
  const Pieces closed(0);
  const auto parts_of = [&](std::size_t begin, std::size_t bytes) {
    return driver.shareable_parts(pieces.at(begin), {bytes});
  };
  const auto parts = parts_of(kBegin, kBytes);
  expect(parts.size() == 3 && parts[0].base == pieces.at(0), "the range is in three pieces");
  expect(parts_of(kBegin, kPieces * kPiece).empty(), "nothing is behind the last piece");
  expect(driver.shareable_parts(closed.at(0), {kPiece}).empty(), "it was not made to be shared");

  process.write(pieces.at(0), pattern(1, kPieces * kPiece));
  line.say(false, driver.export_range(parts));
  (void)line.hear(false);
  expect(process.read(pieces.at(kBegin), kBytes) == pattern(2, kBytes),
         "the other one has written");

  const ExportedMemory again = driver.export_range(parts);
  const Address own = driver.import_memory(again, process.gpu());
  expect(own != pieces.at(0), "this process maps it once more");
  expect(process.read(own + Bytes{kBegin}, kBytes) == pattern(2, kBytes), "that shows the same");
  driver.release_import(own);

  pieces.replace(1);
  expect(parts_of(kBegin, kBytes) != parts, "other memory has other numbers");
  line.say(false, again);
  (void)line.hear(false);
  expect(fails([&] { (void)driver.import_memory(again, process.gpu()); }), "it is gone");
}

void import_pieces(const Line& line) {
  const Process process(true);
  Driver& driver = process.driver();
  const ExportedMemory exported = line.hear(true);
  const Address memory = driver.import_memory(exported, process.gpu());
  const Contents all = pattern(1, kPieces * kPiece);
  expect(process.read(memory, 3 * kPiece) == Contents(all.begin(), all.begin() + 3 * kPiece),
         "what the first process has written is here");
  process.write(memory + Bytes{kBegin}, pattern(2, kBytes));
  line.say(true, {});

  const ExportedMemory gone = line.hear(true);
  expect(fails([&] { (void)driver.import_memory(gone, process.gpu()); }),
         "one piece is another one by now");
  expect(process.read(memory + Bytes{kBegin}, kBytes) == pattern(2, kBytes), "what is open stays");
  driver.release_import(memory);
  expect(fails([&] { driver.release_import(memory); }), "it is given back once");
  line.say(true, {});
}

}  // namespace
}  // namespace polypath::test

int main() {
  const polypath::test::Line line;
  const pid_t child = fork();
  try {
    if (child == 0) polypath::test::import_pieces(line);
    else polypath::test::export_pieces(line);
  } catch (const polypath::Error& error) {
    polypath::test::expect(false, error.what());
  }
  if (child == 0) return 0;
  int status = -1;
  waitpid(child, &status, 0);
  std::puts(status == 0 ? "right" : "the other process has failed");
  return status == 0 ? 0 : 1;
}
