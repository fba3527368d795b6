/** Errors of tasks carry the status of a refused request. Source: behaviour platform.md 0, conventions.md 18. */
export const platformErrors = {
  BACKUP_CLUSTER_FULL: {
    code: 'DM-30025',
    status: 409,
    group: 'BACKUP_SPACE_EXHAUSTED',
    message: 'The cluster has no room for backups: {shortfall}.',
  },
  BACKUP_CORRUPT: { code: 'DM-30033', status: 400, message: 'The backup is damaged: {part}.' },
  BACKUP_KEY_MISMATCH: {
    code: 'DM-30031',
    status: 400,
    message: 'The backup key is missing or is not the one that this backup was written with.',
  },
  BACKUP_SPACE_EXHAUSTED: {
    code: 'DM-30025',
    status: 400,
    message: 'The place of the backup has no room: {shortfall}.',
  },
  BACKUP_TARGET_LIMIT_EXCEEDED: {
    code: 'DM-30020',
    status: 422,
    group: 'LIMIT_EXCEEDED',
    message: '{limit}: at most {maximum}, found {found}.',
  },
  BACKUP_VERIFICATION_FAILED: {
    code: 'DM-30026',
    status: 409,
    message: 'The backup was written but could not be read back: {part}.',
  },
  BACKUP_VERSION_UNSUPPORTED: {
    code: 'DM-30032',
    status: 400,
    message: 'The backup comes from version {version}, which is newer than this product ({productVersion}).',
  },
  CATEGORY_ALREADY_EXISTS: {
    code: 'CAT-10001',
    status: 409,
    group: 'ENTITY_ALREADY_EXISTS',
    message: 'A {kind} with the same {fields} exists already. Choose another value.',
  },
  CATEGORY_IN_USE: {
    code: 'CAT-10002',
    status: 409,
    group: 'ENTITY_IN_USE',
    message: 'The category "{key}:{value}" is carried by {users}. Detach it from those first.',
  },
  DOMAIN_MANAGER_ALREADY_EXISTS: {
    code: 'DM-30001',
    status: 409,
    group: 'ENTITY_ALREADY_EXISTS',
    message: 'A {kind} with the same {fields} exists already. Choose another name.',
  },
  DOMAIN_MANAGER_DOES_NOT_FIT: {
    code: 'DM-30002',
    status: 409,
    group: 'INSUFFICIENT_RESOURCES',
    message: 'The cluster has no room for the nodes of this manager: {shortfall}.',
  },
  DOMAIN_MANAGER_IN_USE: {
    code: 'DM-30007',
    status: 409,
    group: 'ENTITY_IN_USE',
    message: '"{name}" cannot be unregistered: {reasons}.',
  },
  INSTANCE_NOT_FRESH: {
    code: 'DM-30030',
    status: 409,
    message: 'A restore needs a fresh instance; this one holds {found}.',
  },
  OBJECT_STORE_ACCESS_DENIED: {
    code: 'DM-30022',
    status: 400,
    message: 'The object store at {endpoint} refused access to the bucket "{bucket}".',
  },
  OBJECT_STORE_BUCKET_NOT_FOUND: {
    code: 'DM-30023',
    status: 400,
    message: 'The object store at {endpoint} has no bucket "{bucket}".',
  },
  OBJECT_STORE_TLS_FAILED: {
    code: 'DM-30024',
    status: 400,
    message: 'No trusted connection to the object store at {endpoint}: {cause}.',
  },
  OBJECT_STORE_UNREACHABLE: {
    code: 'DM-30021',
    status: 400,
    message: 'The place of the backup at {endpoint} does not answer: {cause}.',
  },
  PRODUCT_DOES_NOT_FIT: {
    code: 'DM-30010',
    status: 409,
    group: 'INSUFFICIENT_RESOURCES',
    message: 'The hosting cluster has no room for the product {product}: {shortfall}.',
  },
  PRODUCT_NOT_ENABLED: { code: 'DM-30011', status: 409, message: 'This needs the product {product}: enable it first.' },
  REGISTRATION_PRECHECK_FAILED: {
    code: 'DM-30006',
    status: 409,
    message: 'The remote side at {address} cannot be registered: {reasons}.',
  },
  REMOTE_ALREADY_REGISTERED: {
    code: 'DM-30003',
    status: 409,
    group: 'ALREADY_REGISTERED',
    message: '"{name}" is registered already, here or with another manager.',
  },
  REMOTE_AUTHENTICATION_FAILED: {
    code: 'DM-30005',
    status: 409,
    message: 'The remote side at {address} refused the credentials.',
  },
  REMOTE_UNREACHABLE: { code: 'DM-30004', status: 409, message: 'The remote side at {address} does not answer.' },
  SYSTEM_CATEGORY: {
    code: 'CAT-10003',
    status: 403,
    message:
      'Categories of type {type} belong to the system: they can be assigned at most, not created, changed or deleted.',
  },
  TASK_ALREADY_FINISHED: {
    code: 'TSKS-20902',
    status: 409,
    message: 'The task {taskExtId} is finished ({status}) and cannot be cancelled.',
  },
  TASK_INTERRUPTED_BY_RESTORE: { code: 'TSKS-20910', status: 409, message: 'The task was interrupted by restore.' },
  TASK_LEGACY_ERROR: { code: 'TSKS-20801', status: 500, group: 'LEGACY_ERROR', message: '{fault}' },
  TASK_NOT_CANCELABLE: {
    code: 'TSKS-20903',
    status: 409,
    message: 'The task {taskExtId} ({operation}) cannot be cancelled.',
  },
  TASK_NOT_FOUND: {
    code: 'TSKS-20904',
    status: 404,
    group: 'ENTITY_NOT_FOUND',
    message: 'There is no {kind} {id} ({attribute}), or it is not visible.',
  },
} as const

export const platformMessages = {
  CATEGORY_UPDATE_SUCCESS: { code: 'CAT-10000', message: 'Category updated successfully' },
  TASK_CANCELLATION_SUCCESS: { code: 'TSKS-20901', message: 'Task cancellation issued successfully as requested' },
} as const
