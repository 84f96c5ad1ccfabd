// Every rank sends a message to every rank, and reduces what arrives, in the order of the ranks, or
// stores it side by side, in lines: see mailbox_layout.h. A thread has one line at a time: with two
// or four the first arrives later, and nothing is gained where links are full anyway.

#include "kernels/element.cuh"
#include "kernels/mailbox.cuh"
#include "kernels/reduce_layout.h"

namespace {

using polypath::kLineBytes;
using polypath::kLineMessage;
using polypath::kThreadsOfLine;
using polypath::lines_of;
using polypath::MailParameters;
using polypath::message_bytes;
using polypath::gpu::load_word;
using polypath::gpu::store_word;

constexpr unsigned kThreadsOfWarp = 32;
constexpr unsigned kAllOfWarp = 0xffffffff;
constexpr std::uint64_t kMagic = std::uint64_t{0x706f6c79} << 32;

// A thread's part of a line: 16 bytes, of the last one 8 and the flag.
struct Words {
  std::uint64_t first, second;
};

__device__ void store(char* line, const Words& words) {
  asm volatile("st.volatile.global.v2.u64 [%0], {%1, %2};" ::"l"(line), "l"(words.first),
               "l"(words.second)
               : "memory");
}
__device__ Words load(const char* line) {
  Words words;
  asm volatile("ld.volatile.global.v2.u64 {%0, %1}, [%2];"
               : "=l"(words.first), "=l"(words.second)
               : "l"(line)
               : "memory");
  return words;
}

// One call as one thread sees it.
class Mail {
 public:
  __device__ explicit Mail(const MailParameters& of) : of_(of) {
    const std::uint32_t calls = polypath::gpu::begin_call(of);
    flag_ = kMagic | calls;
    half_ = polypath::kMailBoxes + (calls & 1) * (of.ranks - 1) * of.box;
  }

  // Of what is 120 bytes from each line to the next.
  [[nodiscard]] __device__ Words read(std::uint64_t to, std::uint64_t line) const {
    const char* const message = reinterpret_cast<const char*>(of_.input) + to * of_.send_stride;
    const std::uint64_t bytes = message_bytes(of_, of_.rank, to), offset = offset_in(line);
    Words words{0, flag_};
    if (offset < bytes) words.first = load_word(message + offset, bytes - offset);
    if (has_flag()) return words;
    words.second = 0;
    if (offset + 8 < bytes) words.second = load_word(message + offset + 8, bytes - offset - 8);
    return words;
  }
  // To `begin` bytes from the output's begin on, as the message from a rank is long.
  __device__ void write(std::uint64_t begin, std::uint64_t from, std::uint64_t line,
                        const Words& words) const {
    char* const message = reinterpret_cast<char*>(of_.output) + begin;
    const std::uint64_t bytes = message_bytes(of_, from, of_.rank), offset = offset_in(line);
    if (offset < bytes) store_word(message + offset, bytes - offset, words.first);
    if (!has_flag() && offset + 8 < bytes)
      store_word(message + offset + 8, bytes - offset - 8, words.second);
  }

  __device__ void send(std::uint64_t to, std::uint64_t line, const Words& words) const {
    store(line_in(to, of_.rank, line), words);
  }
  // All threads of a warp call it together; those without a line do not wait.
  [[nodiscard]] __device__ Words receive(std::uint64_t from, std::uint64_t line,
                                         bool has_line) const {
    const char* const at = line_in(of_.rank, from, line);
    Words words{0, 0};
    for (unsigned looks = 1;; ++looks) {
      if (has_line) words = load(at);
      const bool arrived = !has_line || !has_flag() || words.second == flag_;
      if (__all_sync(kAllOfWarp, arrived)) return words;
      if (looks % polypath::gpu::kPatience == 0 &&
          __any_sync(kAllOfWarp, polypath::gpu::is_abandoned(of_)))
        return words;
    }
  }

  __device__ void finish() const { polypath::gpu::finish_call(of_); }

 private:
  [[nodiscard]] static __device__ bool has_flag() {
    return threadIdx.x % kThreadsOfLine == kThreadsOfLine - 1;
  }
  [[nodiscard]] static __device__ std::uint64_t offset_in(std::uint64_t line) {
    return line * kLineMessage + threadIdx.x % kThreadsOfLine * sizeof(Words);
  }
  [[nodiscard]] __device__ char* line_in(std::uint64_t at, std::uint64_t sender,
                                         std::uint64_t line) const {
    return reinterpret_cast<char*>(of_.mailboxes[at]) + half_ +
           polypath::box_number(at, sender) * of_.box + line * kLineBytes +
           threadIdx.x % kThreadsOfLine * sizeof(Words);
  }

  const MailParameters& of_;
  std::uint64_t flag_, half_;
};

__device__ void send_to_all(const Mail& mail, const MailParameters& of, std::uint64_t line,
                            const Words& own) {
  for (std::uint64_t distance = 1; distance < of.ranks; ++distance) {
    const std::uint64_t to = (of.rank + distance) % of.ranks;
    if (line < lines_of(message_bytes(of, of.rank, to)))
      mail.send(to, line, of.send_stride != 0 || of.receiver == to ? mail.read(to, line) : own);
  }
}

// One function for all types: with a copy of everything around it for each of them, the code would
// be forty times as long.
__noinline__ __device__ Words combine_any(polypath::gpu::ReductionCode reduction, Words a,
                                          Words b) {
  polypath::gpu::with_reducer(reduction, [&](auto reducer) {
    a.first = combine_all(reducer, a.first, b.first);
    a.second = combine_all(reducer, a.second, b.second);
  });
  return a;
}

__device__ std::uint64_t sums(std::uint64_t a, std::uint64_t b) {
  const auto half = [](std::uint64_t word, int bits) {
    return __uint_as_float(static_cast<std::uint32_t>(word >> bits));
  };
  const std::uint64_t low = __float_as_uint(half(a, 0) + half(b, 0));
  return low | static_cast<std::uint64_t>(__float_as_uint(half(a, 32) + half(b, 32))) << 32;
}

// Sums of float32 are what most calls are: they are worth code of their own.
__device__ Words combine(const polypath::gpu::ReductionCode& reduction, const Words& a,
                         const Words& b) {
  if (reduction.code == 0) return {sums(a.first, b.first), sums(a.second, b.second)};
  return combine_any(reduction, a, b);
}

// `receive` takes what arrives of a line. All threads of a warp have equally many lines, of which
// some may not be there, or not in each message.
template <class Receive>
__device__ void exchange(const MailParameters& of, Receive receive) {
  constexpr std::uint64_t kLinesOfWarp = kThreadsOfWarp / kThreadsOfLine;
  const Mail mail(of);
  const std::uint64_t thread = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  const std::uint64_t step = std::uint64_t{gridDim.x} * blockDim.x / kThreadsOfLine;
  const std::uint64_t lines = lines_of(of.bytes);
  for (std::uint64_t first = thread / kThreadsOfWarp * kLinesOfWarp; first < lines; first += step) {
    const std::uint64_t line = first + thread % kThreadsOfWarp / kThreadsOfLine;
    const Words own = mail.read(of.rank, line);
    send_to_all(mail, of, line, own);
    receive(mail, line, own);
  }
  mail.finish();
}

}  // namespace

extern "C" __global__ void __launch_bounds__(polypath::kMailThreads)
    exchange_and_store(const __grid_constant__ MailParameters of) {
  exchange(of, [&](const Mail& mail, std::uint64_t line, const Words& own) {
    for (std::uint64_t distance = 0; distance < of.ranks; ++distance) {
      const std::uint64_t from = (of.rank + distance) % of.ranks;
      const bool has_line = line < lines_of(message_bytes(of, from, of.rank));
      const Words words = from == of.rank ? own : mail.receive(from, line, has_line);
      mail.write(from * of.receive_stride, from, line, words);
    }
  });
}

// Messages to one rank are equally long.
extern "C" __global__ void __launch_bounds__(polypath::kMailThreads)
    exchange_and_reduce(const __grid_constant__ MailParameters of) {
  const std::uint64_t lines = lines_of(message_bytes(of, of.rank, of.rank));
  exchange(of, [&](const Mail& mail, std::uint64_t line, const Words& own) {
    const bool has_line = line < lines;
    Words sum{0, 0};
    for (std::uint64_t from = 0; from < of.ranks; ++from) {
      const Words words = from == of.rank ? own : mail.receive(from, line, has_line);
      sum = from == 0 ? words : combine(polypath::gpu::with_next(of.reduction, from), sum, words);
    }
    mail.write(0, of.rank, line, sum);
  });
}
