#pragma once

// PictureSummary: a PictureSurvey in words.

#include <string>

#include "trainer/data/formats/picture_survey.h"

namespace detol::inline trainer {

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
