import { errorTable } from './error-table.ts'

/** Errors that any operation may answer. Source: behaviour conventions 11. Codes never change meaning. */
export const sharedErrors = errorTable({
  ROUTE_NOT_FOUND: { 'PLAT-10001 404 RESOURCE_NOT_FOUND': 'There is no resource at "{path}". {hint}' },
  METHOD_NOT_ALLOWED: { 'PLAT-10002 405': '"{path}" does not answer {method}. It answers {allowed}.' },
  MALFORMED_REQUEST: { 'PLAT-10003 400': 'The request cannot be read: {fault}' },
  MISSING_ETAG_HEADER: {
    'PLAT-10004 428': 'The header If-Match is required. Read the {kind} first and send the ETag of that answer.',
  },
  INVALID_ETAG_HEADER: {
    'PLAT-10005 412':
      'Invalid eTag header: the {kind} changed since it was read, or the tag is not its own. Read it again and retry.',
  },
  ENTITY_NOT_FOUND: {
    'PLAT-10007 404':
      'There is no {kind} {id} ({attribute}), or it is not visible: valid metadata or attributes could not be fetched.',
  },
  INVALID_ARGUMENT: { 'PLAT-10008 400': '{attributePath}: {fault}' },
  CONFLICT: { 'PLAT-10009 409': '{fault}' },
  INVALID_ODATA_EXPRESSION: { 'PLAT-10010 400': '{option}, position {position}: {fault}' },
  ENTITY_ALREADY_EXISTS: { 'PLAT-10011 409': 'A {kind} with the same {fields} exists already. Choose another value.' },
  IMMUTABLE_ATTRIBUTE: {
    'PLAT-10012 400': '{attributePath} cannot change after creation: expected {expected}, found {found}.',
  },
  ENTITY_IN_USE: { 'PLAT-10013 409': 'The {kind} "{name}" is in use by {users}. Remove those first.' },
  LIMIT_EXCEEDED: { 'PLAT-10014 422': '{limit}: at most {maximum}, found {found}.' },
  ENTITY_BUSY: {
    'PLAT-10015 409': 'The {kind} "{name}" is being changed by task {taskExtId}. Wait for it, then retry.',
  },
  UNSUPPORTED_MEDIA_TYPE: { 'PLAT-10016 415 UNSUPPORTED_REQUEST': 'Content-Type: expected {expected}, found {found}.' },
  NOT_ACCEPTABLE: {
    'PLAT-10016 406 UNSUPPORTED_REQUEST':
      'Accept: this operation answers {expected}, but the request accepts only {found}.',
  },
  BODY_TOO_LARGE: { 'PLAT-10016 413 UNSUPPORTED_REQUEST': 'The body is larger than {maximum} bytes.' },
  TARGET_TOO_LONG: { 'PLAT-10016 414 UNSUPPORTED_REQUEST': 'The request line is longer than {maximum} bytes.' },
  HEADERS_TOO_LARGE: { 'PLAT-10016 431 UNSUPPORTED_REQUEST': 'The headers are larger than {maximum}.' },
  RANGE_NOT_SATISFIABLE: {
    'PLAT-10016 416 UNSUPPORTED_REQUEST': 'Range: expected a part of {size} bytes, found {found}.',
  },
  EXPECTATION_FAILED: {
    'PLAT-10016 417 UNSUPPORTED_REQUEST': 'Expect: expected 100-continue or no such header, found {found}.',
  },
  REQUEST_TIMEOUT: {
    'PLAT-10003 408 MALFORMED_REQUEST': 'The request did not arrive in time. Send it again on a new connection.',
  },
  IDEMPOTENCY_KEY_REUSED: {
    'PLAT-10020 422': 'The request id {requestId} was used for another request. Send a new one.',
  },
  REQUEST_IN_PROGRESS: { 'PLAT-10021 409': 'The request {requestId} is still running. Retry with the same id.' },
  CONSOLE_TOKEN_REFUSED: {
    'PLAT-10401 401 AUTHENTICATION_REQUIRED':
      'Expected ?token= with the VmConsoleToken of this VM: at most 5 minutes old, not used before, and the VM ON. Generate a new one.',
  },
  CONSOLE_ORIGIN_REFUSED: {
    'PLAT-10403 403 PERMISSION_DENIED':
      'Origin: expected the address of this service, found {origin}. Pages of other sites cannot open consoles.',
  },
  AUTHENTICATION_REQUIRED: { 'PLAT-10401 401': 'Valid credentials are required: HTTP Basic, or an API key.' },
  TOO_MANY_FAILED_SIGN_INS: {
    'PLAT-10429 429 RATE_LIMIT_EXCEEDED': 'Too many failed sign-ins from this address. Retry in {seconds} s.',
  },
  ACCESS_DENIED: { 'PLAT-10403 403': 'The operation {operation} is not permitted for this identity{reason}.' },
  RATE_LIMIT_EXCEEDED: { 'PLAT-10429 429': '{bucket} allows {limit} requests a {unit}. Retry in {seconds} s.' },
  INTERNAL_ERROR: {
    'PLAT-10500 500': 'Something went wrong inside the service. Quote the request id {requestId} to its operator.',
  },
  NOT_IMPLEMENTED: {
    'PLAT-10501 501':
      'The operation {operation} is part of the API, but not implemented yet. The list of gaps has more.',
  },
  SERVICE_UNAVAILABLE: { 'PLAT-10503 503': '{fault}' },
  BACKEND_TIMEOUT: { 'PLAT-10504 504': '{fault}' },
  BATCH_STOPPED: { 'PLAT-50012 409': 'Not run: an earlier element failed and the batch stops on error.' },
  BATCH_CANCELED: { 'PLAT-50013 409': 'Not run: the batch was cancelled.' },
})
