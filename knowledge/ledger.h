#pragma once

// Ledger: a writer of the knowledge base (SQLite, WAL, synchronous=FULL). Events that
// append() returned success for survive any kill; writing an event twice changes nothing:
//
//   Asked                       the first of a trial is kept
//   Reported                    the first of a (trial, attempt, step) is kept
//   Refit                       the first of a (model, version) is kept
//   AlgorithmChosen             the first of a key is kept
//   Source                      the first of a study is kept
//   Model                       an exact copy of an earlier one changes nothing
//   Started, Requeued, Told     an exact copy of an earlier one changes nothing
//   StudyState                  an exact copy of the last one changes nothing
//   Accounted                   the last one is kept; events() returns it last
//
// Started, Reported and Requeued of an attempt older than the trial's newest Started are
// dropped silently: their sender was replaced.
//
// Many processes may write one database, each its own studies: a study is locked by at most one
// live process, and the lock names it (knowledge/storage/writer.h). On a network file system one
// process writes the whole database. A process has at most one ledger of a database. Not
// thread-safe.

#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/result.h"
#include "knowledge/event.h"
#include "knowledge/facts.h"
#include "knowledge/study_record.h"

namespace detol::inline knowledge {

class Ledger {
 public:
  // Creates or opens the database, beside the writers of other studies; the folder must exist.
  // Waits up to ten seconds for a process that changes the whole database. Errors (kStorage):
  // unwritable, corrupt, newer schema, or locked as a whole by a living process, naming its host,
  // pid and since when; a file that was there is left as it was.
  static Result<std::unique_ptr<Ledger>> open(const std::filesystem::path& path);
  virtual ~Ledger() = default;

  // Creates a study, and locks it until this ledger is closed. Errors: kStudy if the name exists,
  // kUsage if a new study may not have it, kStorage.
  virtual Result<StudyId> create_study(const StudyRecord& record) = 0;

  // Locks the study of that name until this ledger is closed, and returns it: nobody else changes
  // it from now on. Errors: kStudy if there is none, with a did-you-mean; kStorage if a live
  // process runs it, naming host, pid and since when, with EWOULDBLOCK as system_error.
  virtual Result<StudyRecord> open_study(const std::string& name) = 0;

  // Appends the events, and the facts that are new, in one transaction, which is durable when it
  // returns. After an error none of them is kept. Locks the study, unless it is locked. Processes
  // that append at the same time do so in turn.
  // Errors (kStorage): the disk refused a write, or a process that is stopped holds up the others
  // (may_retry()); another failure of the disk; another process runs the study or took it over.
  // REQUIRES: within an event, names of params or metrics differ.
  virtual Result<void> append(StudyId study, std::span<const Event> events,
                              std::span<const Fact> facts = {}) = 0;

  // Adds the facts that are new in one transaction. Errors: as append, but of no study.
  virtual Result<void> record_facts(std::span<const Fact> facts) = 0;

  // Returns true if the last call failed on a full or read-only disk, or as it was not its turn to
  // commit for ten seconds: the same call may succeed later. After any other failed append the
  // process must end, and the study be resumed.
  virtual bool may_retry() const = 0;

  // Returns the study of that name, which another process may change meanwhile. Errors (kStudy):
  // there is none, with a did-you-mean.
  virtual Result<StudyRecord> study(const std::string& name) = 0;

  // Returns the oldest trial of another study with this event::Asked::identity that was trained to
  // its full length, or diverged, by groups of `ranks`, where that is given; nullopt if there is
  // none. Errors (kStorage).
  virtual Result<std::optional<KnownTrial>> known_trial(const std::string& identity, StudyId except,
                                                        std::optional<int> ranks) = 0;

  // Returns every study in the order of creation. Errors (kStorage).
  virtual Result<std::vector<StudyRecord>> studies() = 0;

  // Returns the measured trials of a study with their last outcomes, in the order of asking, but
  // for those that took the outcome of another. Reads no curve. Errors (kStorage).
  virtual Result<std::vector<event::Source::Trial>> outcomes(StudyId study) = 0;

  // Returns the facts of a kind in the order of their keys, or the fact of a kind and key, if there
  // is one. Errors (kStorage): one is damaged.
  virtual Result<std::vector<Fact>> facts(const std::string& kind) = 0;
  virtual Result<std::optional<Fact>> fact(const std::string& kind, const std::string& key) = 0;

  // Returns every event of a study in the order of appending, without repeats, after verifying
  // each row's checksum. Errors (kStorage): a damaged row, naming it.
  virtual Result<std::vector<Event>> events(StudyId study) = 0;
};

}  // namespace detol::inline knowledge
