"""The page of the API's documentation, whole from this machine, and whether the service is well."""

from importlib import resources

from fastapi import APIRouter, HTTPException, Request
from fastapi.openapi.docs import get_swagger_ui_html
from fastapi.responses import FileResponse, HTMLResponse, JSONResponse

from index import StorageError
from rag.api.asking import the_assistant

router = APIRouter()

_VIEWER = resources.files("fastapi_swagger") / "resources"  # Swagger UI as it is published
_TYPES = {
    "swagger-ui-bundle.js": "text/javascript",
    "swagger-ui.css": "text/css",
    "favicon-32x32.png": "image/png",
}
_SHOWN = {"validatorUrl": None, "persistAuthorization": False, "tryItOutEnabled": True}


@router.get("/docs", include_in_schema=False)
def docs(request: Request) -> HTMLResponse:
    root = request.scope.get("root_path", "").rstrip("/")
    return get_swagger_ui_html(
        openapi_url=f"{root}/openapi.json",
        title="Attest: the API",
        swagger_js_url=f"{root}/docs/swagger-ui-bundle.js",
        swagger_css_url=f"{root}/docs/swagger-ui.css",
        swagger_favicon_url=f"{root}/docs/favicon-32x32.png",
        swagger_ui_parameters=_SHOWN,
    )


@router.get("/docs/{name}", include_in_schema=False)
def viewer(name: str) -> FileResponse:
    if name not in _TYPES:
        raise HTTPException(404, f"no file {name!r} belongs to this page")
    return FileResponse(str(_VIEWER / name), media_type=_TYPES[name])


@router.get("/health", tags=["service"])
def health() -> dict[str, str]:
    """The process answers."""
    return {"status": "ok"}


@router.get("/ready", tags=["service"], responses={503: {"description": "not yet"}})
def ready(request: Request) -> JSONResponse:
    """Whether questions are answered at once: the models are loaded, the database answers."""
    if not request.app.state.warm.is_set():
        return JSONResponse({"status": "loading the models"}, 503)
    try:
        the_assistant(request).catalog.collections()
    except StorageError:
        return JSONResponse({"status": "the database does not answer"}, 503)
    return JSONResponse({"status": "ready"})
