"""Large images are made as small as models read them."""

import subprocess
import sys
from io import BytesIO

import pytest

from attachments import png, png_header
from treadle import Image
from treadle.core.errors import BadMedia
from treadle.engine.scaling import LARGEST, WIDEST, scale_down

pillow = pytest.importorskip("PIL.Image")


def encoded(picture, form, **settings):
    out = BytesIO()
    picture.save(out, form, **settings)
    return out.getvalue()


def opened(image):
    return pillow.open(BytesIO(image.data))


def test_a_small_image_stays_as_it_is():
    image = Image(png(100, 50), name="a.png")
    assert scale_down(image) is image


@pytest.mark.parametrize(("form", "after"), [("PNG", "png"), ("GIF", "png"), ("JPEG", "jpeg"), ("WEBP", "png")])
def test_a_wide_image_is_scaled_to_the_widest_that_is_sent(form, after):
    large = Image(encoded(pillow.new("RGB", (4096, 1024), "red"), form), name="a")
    image = scale_down(large)
    picture = opened(image)
    assert (picture.size, image.media_type, image.name) == ((WIDEST, 512), f"image/{after}", "a")
    red, green, blue = picture.convert("RGB").getpixel((5, 5))
    assert (red > 240, green < 15, blue < 15) == (True, True, True)
    assert scale_down(image) is image


def test_an_image_of_too_many_bytes_is_encoded_again():
    noise = png(2000, 2000, noise=True)
    assert len(noise) > LARGEST
    image = scale_down(Image(noise))
    assert (image.media_type, opened(image).size) == ("image/jpeg", (2000, 2000))
    assert len(image.data) <= LARGEST


def test_what_is_transparent_stays_so_if_that_is_small_enough():
    image = scale_down(Image(encoded(pillow.new("RGBA", (3000, 30), (255, 0, 0, 0)), "WEBP", lossless=True)))
    assert opened(image).convert("RGBA").getpixel((0, 0))[3] == 0


def test_what_is_transparent_lies_on_white_where_that_would_be_too_large():
    picture = pillow.frombytes("RGB", (2000, 2000), png(2000, 2000, noise=True)[100 : 100 + 12_000_000]).convert("RGBA")
    picture.putalpha(0)
    image = scale_down(Image(encoded(picture, "PNG", compress_level=1)))
    assert image.media_type == "image/jpeg"
    assert min(opened(image).getpixel((9, 9))) > 250


def test_an_image_that_lies_on_its_side_is_put_upright():
    picture = pillow.new("RGB", (3000, 100), "red")
    exif = picture.getexif()
    exif[0x0112] = 6  # turned by 90 degrees
    image = scale_down(Image(encoded(picture, "JPEG", exif=exif)))
    width, height = opened(image).size
    assert (width < height, height) == (True, WIDEST)


def test_a_decompression_bomb_is_refused_before_it_is_decoded():
    with pytest.raises(BadMedia, match=r"bomb.png has 30,000 × 30,000 pixels; images may have [\d,]+ at most. Make it smaller."):
        scale_down(Image(png_header(30_000, 30_000), name="bomb.png"))


def test_a_damaged_image_is_refused_only_where_it_would_have_to_be_scaled():
    small = Image(b"\x89PNG\r\n\x1a\n and nothing else")
    assert scale_down(small) is small  # its server says what it makes of it
    with pytest.raises(BadMedia, match=r"a.png can't be read as image/png; it seems to be damaged. Save it again."):
        scale_down(Image(png(4000, 4000)[:500], name="a.png"))
    with pytest.raises(BadMedia, match="seems to be damaged"):
        scale_down(Image(b"\x89PNG\r\n\x1a\n" + bytes(LARGEST)))


WITHOUT = """
import sys

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "PIL":
            raise ModuleNotFoundError(name)

sys.meta_path.insert(0, Absent())
from treadle import Image
from treadle.core.errors import BadMedia
from treadle.engine.scaling import LARGEST, scale_down

small = Image(b"\\x89PNG\\r\\n\\x1a\\n" + bytes(100))
assert scale_down(small) is small
try:
    scale_down(Image(b"\\x89PNG\\r\\n\\x1a\\n" + bytes(LARGEST), name="a.png"))
except BadMedia as error:
    print(error)
"""


def test_without_pillow_small_images_go_as_they_are_and_large_ones_are_refused():
    done = subprocess.run([sys.executable, "-W", "error", "-c", WITHOUT], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == (
        "a.png has 5,242,888 bytes, more than the 5,242,880 that models take. "
        "Make it smaller, or have it scaled down: pip install 'treadle[media]'."
    )
