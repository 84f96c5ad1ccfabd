#include "collective/rank/awaited_words.h"

#include "kernels/mailbox_layout.h"
#include "model/program.h"

namespace polypath::collective {

void AwaitedWords::add_mailbox(Address mailbox) {
  const std::scoped_lock lock(mutex_);
  mailboxes_.push_back(mailbox);
}

// In no stream: it would wait behind what waits for the flags.
void AwaitedWords::set_all() {
  std::vector<Address> mailboxes;
  {
    const std::scoped_lock lock(mutex_);
    mailboxes = mailboxes_;
  }
  for (Bytes offset; offset < bytes_; offset += kFlagBytes)
    driver_.signal(flags_ + offset, place_, 1);
  for (const Address mailbox : mailboxes) driver_.signal(mailbox + Bytes{kMailAbandoned}, gpu_, 1);
}

}  // namespace polypath::collective
