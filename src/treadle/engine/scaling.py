"""Scales images down to what models read, where Pillow is installed (`treadle[media]`). Small ones stay as they are.

Bytes in, bytes out. Validation of images is in `core.media`, storage of the bytes in `engine.media`.
"""

from io import BytesIO
from typing import TYPE_CHECKING

from treadle.core.errors import BadMedia
from treadle.core.media import MEGABYTE, Image

if TYPE_CHECKING:
    from PIL.Image import Image as Picture
    from PIL.ImageFile import ImageFile

WIDEST = 2048  # pixels of the longer side
LARGEST = 5 * MEGABYTE  # bytes; what the strictest provider takes
_QUALITIES = (85, 70, 50)  # of JPEG, tried until it is small enough


def scale_down(image: Image) -> Image:
    """Return the image with at most `WIDEST` pixels a side and `LARGEST` bytes."""
    if not _has_pillow():
        if len(image.data) > LARGEST:
            about = f"{_display_name(image)} has {len(image.data):,} bytes, more than the {LARGEST:,} that models take"
            raise BadMedia(f"{about}. Make it smaller, or have it scaled down: pip install 'treadle[media]'.")
        return image
    picture = _open(image)
    if picture is None or (max(picture.size) <= WIDEST and len(image.data) <= LARGEST):
        return image
    try:
        return Image(_encode_smaller(picture, keeps_lines=image.media_type != "image/jpeg"), name=image.name)
    except Exception as error:  # whatever a decoder makes of damaged bytes
        raise _damage_error(image) from error


def _has_pillow() -> bool:
    try:
        from PIL import Image as _  # noqa: F401 - only whether it is there; most runs have no image
    except ImportError:
        return False
    return True


def _open(image: Image) -> "ImageFile | None":
    """Open the image with its header read and nothing decoded; None if that fails and it is small enough to be sent as it is."""
    from PIL import Image as pillow  # noqa: N813 - its own name is taken here
    from PIL.GifImagePlugin import GifImageFile
    from PIL.JpegImagePlugin import JpegImageFile
    from PIL.PngImagePlugin import PngImageFile
    from PIL.WebPImagePlugin import WebPImageFile

    readers = {"image/png": PngImageFile, "image/jpeg": JpegImageFile, "image/gif": GifImageFile, "image/webp": WebPImageFile}
    try:
        picture = readers[image.media_type](BytesIO(image.data))
    except Exception as error:  # whatever a reader makes of damaged bytes
        if len(image.data) > LARGEST:
            raise _damage_error(image) from error
        return None
    width, height = picture.size
    if width * height > (most := pillow.MAX_IMAGE_PIXELS or 0):
        raise BadMedia(
            f"{_display_name(image)} has {width:,} × {height:,} pixels; images may have {most:,} at most. Make it smaller."
        )
    return picture


def _encode_smaller(picture: "ImageFile", *, keeps_lines: bool) -> bytes:
    """Encode the picture again. Drawings and transparent images stay lossless, if that is small enough."""
    from PIL import ImageOps

    picture.thumbnail((WIDEST, WIDEST))
    upright = ImageOps.exif_transpose(picture)
    has_alpha = "A" in upright.getbands() or "transparency" in upright.info
    plain = upright.convert("RGBA" if has_alpha else "RGB")
    if keeps_lines or has_alpha:
        exact = _encode(plain, "PNG")
        if len(exact) <= LARGEST:
            return exact
    opaque = _on_white(plain) if has_alpha else plain
    data = b""
    for quality in _QUALITIES:
        data = _encode(opaque, "JPEG", quality=quality)
        if len(data) <= LARGEST:
            break
    return data


def _on_white(picture: "Picture") -> "Picture":
    from PIL import Image as pillow  # noqa: N813 - its own name is taken here

    white = pillow.new("RGBA", picture.size, "white")
    return pillow.alpha_composite(white, picture).convert("RGB")


def _encode(picture: "Picture", form: str, quality: int = 0) -> bytes:
    out = BytesIO()
    picture.save(out, form, optimize=True, **({"quality": quality} if quality else {}))
    return out.getvalue()


def _damage_error(image: Image) -> BadMedia:
    return BadMedia(f"{_display_name(image)} can't be read as {image.media_type}; it seems to be damaged. Save it again.")


def _display_name(image: Image) -> str:
    return image.name or "This image"
