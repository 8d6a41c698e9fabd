#pragma once

// PictureSurvey: what the pictures of a folder are like, from their headers alone, and in
// words. Any thread.

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "core/result.h"

namespace detol::inline trainer {

struct PictureSurvey {
  // Numbers of pictures in training, validation and test files, by class.
  struct Class {
    std::string name;
    std::int64_t training = 0, validation = 0, test = 0;
  };
  std::vector<Class> classes = {};
  std::map<std::string, std::int64_t> kinds = {};  // "colour JPEG": how many
  // In pixels, upright; 0 if no picture can be read.
  int least_height = 0, most_height = 0, least_width = 0, most_width = 0;
  std::int64_t turned = 0;                    // by their EXIF orientation
  std::int64_t with_alpha = 0;                // that may be transparent somewhere
  std::vector<std::string> unreadable = {};   // "<path>: <what is wrong>"
  std::vector<std::string> passed_over = {};  // paths of other files, but for hidden ones

  bool differ_in_size() const { return least_height != most_height || least_width != most_width; }
};

// Returns "3 other files passed over (notes.txt, ...)"; empty if there are none.
std::string passed_over_text(const std::vector<std::string>& paths);

// Reads the headers of all pictures of data in the format image_folder. Errors (kInput): those of
// list_pictures().
Result<PictureSurvey> survey_pictures(const std::filesystem::path& root);

// Returns "1400 colour JPEG, 20 grey PNG", the most frequent first.
std::string kinds_in(const PictureSurvey& survey);

// Returns "60 to 640 x 61 to 639 pixels", or "64 x 64 pixels" where all are equal: height x width.
std::string sizes_in(const PictureSurvey& survey);

// Returns "blobs 1000, stripes 1000": all files of each class; of many, the first 20.
std::string classes_in(const PictureSurvey& survey);

// Returns what deserves a word: "320 rotated by EXIF, 80 with transparency, 3 other files passed
// over (notes.txt, ...)"; empty if nothing does.
std::string notes_on(const PictureSurvey& survey);

}  // namespace detol::inline trainer
