#include "kernels/host_mail.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <vector>

#include "core/error.h"
#include "kernels/host_lap.h"
#include "kernels/host_mailboxes.h"
#include "kernels/mailbox_layout.h"
#include "kernels/reduce.h"
#include "kernels/reduce_layout.h"

namespace polypath::kernels {
namespace {

constexpr std::size_t kFirstMailbox = 2;  // of the memories: the input and the output are before

// What one rank's kernel does in a call: what it sends, and what becomes of what it receives.
class HostMail {
 public:
  HostMail(std::span<std::byte* const> memory, std::span<const std::uint64_t> values)
      : memory_(memory),
        of_(parameters_of(values)),
        lap_(of_, values.size() > kMailValues ? values[kMailValues] : 0),
        boxes_(of_, memory.subspan(kFirstMailbox)) {}
  HostMail(const HostMail&) = delete;
  HostMail& operator=(const HostMail&) = delete;

  [[nodiscard]] bool is_second_phase() const { return lap_.is_second_phase(); }

  void send() const {
    for (std::uint64_t to = 0; to < of_.ranks; ++to)
      if (to != of_.rank) boxes_.write(to, of_.rank, sent(to));
  }
  void reduce() const { reduce_to(memory_[1] + lap_.begin()); }
  void reduce_own_part() const {
    if (!is_collected(of_)) reduce_to(output(of_.rank) + lap_.begin());
    else if (of_.rank != of_.root) reduce_to(kept());
  }
  // Every rank reduces all, of values in the others' mailboxes: a kernel of a GPU sends each line
  // of its result when it is there, but here all meet only once. The values that a rank would send
  // to itself have no place in a mailbox and are sent to all in place of its result.
  void send_to_be_shared() const {
    send();
    for (std::uint64_t to = 0; to < of_.ranks; ++to)
      if (to != of_.rank) boxes_.write_own(to, of_.rank, sent(of_.rank));
  }
  void reduce_and_share() const {
    for (std::uint64_t part = 0; part < of_.ranks; ++part) {
      const auto value = [&](std::uint64_t from) { return value_of(part, from); };
      const std::vector<std::byte> sum = reduced(value, message_bytes(of_, part, part));
      std::copy(sum.begin(), sum.end(), memory_[1] + part * of_.receive_stride);
    }
  }
  // In place this rank's own is where it goes.
  void store() const {
    for (std::uint64_t from = 0; from < of_.ranks; ++from) {
      const std::vector<std::byte> message = arrived(from);
      std::copy(message.begin(), message.end(), output(from) + lap_.begin_of(from));
    }
  }
  // Of what the root has: its own part at each other rank, all parts at the root.
  void store_parts() const {
    for (std::uint64_t part = 0; part < of_.ranks; ++part) {
      if (part == of_.root || (of_.rank != of_.root && part != of_.rank)) continue;
      const std::span<const std::byte> own = sent(part);
      const std::vector<std::byte> message =
          of_.rank == of_.root ? std::vector(own.begin(), own.end()) : arrived(of_.root);
      std::copy(message.begin(), message.end(), output(part) + lap_.begin());
    }
  }
  // All that is read after meeting is looked at, and nothing written.
  [[nodiscard]] bool has_arrived(bool shares_lines) const {
    try {
      for (std::uint64_t from = 0; from < of_.ranks; ++from)
        if (!shares_lines) (void)arrived(from);
      for (std::uint64_t part = 0; shares_lines && part < of_.ranks; ++part)
        for (std::uint64_t from = 0; from < of_.ranks; ++from) (void)value_of(part, from);
      return true;
    } catch (const Error&) {
      return false;
    }
  }
  void finish() const { boxes_.finish(); }

 private:
  // Of `bytes` bytes from each rank, in the order of the ranks.
  template <class Value>
  [[nodiscard]] std::vector<std::byte> reduced(Value value, std::uint64_t bytes) const {
    if (bytes == 0) return {};
    std::vector<std::byte> sum = value(0);
    for (std::uint64_t from = 1; from < of_.ranks; ++from) {
      const Reduction next =
          reduction_of(code_of_mail(of_.reduction), values_of_mail(of_.reduction, from));
      reduce_on_host(next, sum.data(), value(from).data(), Bytes{bytes});
    }
    return sum;
  }

  // A rank's values of a part: in the mailbox of the rank that reduces it.
  [[nodiscard]] std::vector<std::byte> value_of(std::uint64_t part, std::uint64_t from) const {
    const std::uint64_t bytes = message_bytes(of_, part, part);
    if (from != part) return boxes_.read(part, from, bytes);
    if (part != of_.rank) return boxes_.read_own(of_.rank, part, bytes);
    return {input(part), input(part) + bytes};
  }
  [[nodiscard]] const std::byte* input(std::uint64_t to) const {
    return memory_[0] + part_number(of_, to) * of_.send_stride;
  }
  [[nodiscard]] std::byte* output(std::uint64_t of_rank) const {
    return memory_[1] + part_number(of_, of_rank) * of_.receive_stride;
  }
  [[nodiscard]] std::byte* kept() const { return boxes_.kept_for_root(lap_.is_second_phase()); }
  // The bytes that this rank sends to another one in the lap.
  [[nodiscard]] std::span<const std::byte> sent(std::uint64_t to) const {
    const std::uint64_t message = lap_.message(of_.rank, to), own = of_.rank;
    if (is_passed_on(of_) && own != of_.sender) return lap_.stretch_of({output(own), message}, own);
    if (!lap_.is_second_phase()) return lap_.stretch_of({input(to), message}, own);
    if (!is_collected(of_) || message == 0) return lap_.stretch_of({output(own), message}, own);
    return {kept(), lap_.bytes(of_.rank, to)};
  }
  [[nodiscard]] std::vector<std::byte> arrived(std::uint64_t from) const {
    const std::span<const std::byte> own = sent(of_.rank);
    if (from == of_.rank) return {own.begin(), own.end()};
    return boxes_.read(of_.rank, from, lap_.bytes(from, of_.rank));
  }
  void reduce_to(std::byte* result) const {
    const auto value = [&](std::uint64_t from) { return arrived(from); };
    const std::vector<std::byte> sum = reduced(value, sent(of_.rank).size());
    std::copy(sum.begin(), sum.end(), result);
  }

  std::span<std::byte* const> memory_;
  MailParameters of_;
  HostLap lap_;
  HostMailboxes boxes_;
};

void send(std::span<std::byte* const> memory, std::span<const std::uint64_t> values) {
  HostMail(memory, values).send();
}
void reduce(std::span<std::byte* const> memory, std::span<const std::uint64_t> values) {
  const HostMail mail(memory, values);
  mail.reduce(), mail.finish();
}
void store(std::span<std::byte* const> memory, std::span<const std::uint64_t> values) {
  const HostMail mail(memory, values);
  mail.store(), mail.finish();
}
void send_to_be_shared(std::span<std::byte* const> memory, std::span<const std::uint64_t> values) {
  HostMail(memory, values).send_to_be_shared();
}
void reduce_and_share(std::span<std::byte* const> memory, std::span<const std::uint64_t> values) {
  const HostMail mail(memory, values);
  mail.reduce_and_share(), mail.finish();
}

// In parcels: what comes of a lap of the first phase is stored in one of the second.
template <void (HostMail::*kFirst)() const>
void share_parcels(std::span<std::byte* const> memory, std::span<const std::uint64_t> values) {
  const HostMail mail(memory, values);
  if (mail.is_second_phase()) mail.store();
  else (mail.*kFirst)();
  mail.finish();
}

}  // namespace

MailParameters parameters_of(std::span<const std::uint64_t> values) {
  MailParameters of{};
  std::memcpy(&of, values.data(), kMailValues * sizeof(std::uint64_t));
  return of;
}

HostKernel mail_before_exchange(MailUse use, MailWay way) {
  return way == MailWay::lines && use == MailUse::reduce_and_share ? send_to_be_shared : send;
}

HostKernel mail_after_exchange(MailUse use, MailWay way) {
  switch (use) {
    case MailUse::reduce: return reduce;
    case MailUse::store:
    case MailUse::pass_on: return store;
    case MailUse::reduce_and_share:
      return way == MailWay::lines ? reduce_and_share : share_parcels<&HostMail::reduce_own_part>;
    case MailUse::store_and_share: return share_parcels<&HostMail::store_parts>;
  }
  return {};
}

bool mail_has_arrived(const MailKind& kind, std::span<std::byte* const> memory,
                      std::span<const std::uint64_t> values) {
  const bool shares_lines = kind.use == MailUse::reduce_and_share && kind.way == MailWay::lines;
  return HostMail(memory, values).has_arrived(shares_lines);
}

bool mail_is_abandoned(std::span<std::byte* const> memory, std::span<const std::uint64_t> values) {
  const MailParameters of = parameters_of(values);
  return HostMailboxes(of, memory.subspan(kFirstMailbox)).is_abandoned();
}

}  // namespace polypath::kernels
