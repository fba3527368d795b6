import { errorTable } from '../error-table.ts'

/** Errors of tasks carry the status of a refused request. Source: behaviour platform.md 0, conventions.md 18. */
export const platformErrors = errorTable({
  BACKUP_CLUSTER_FULL: { 'DM-30025 409 BACKUP_SPACE_EXHAUSTED': 'The cluster has no room for backups: {shortfall}.' },
  BACKUP_CORRUPT: { 'DM-30033 400': 'The backup is damaged: {part}.' },
  BACKUP_KEY_MISMATCH: {
    'DM-30031 400': 'The backup key is missing or is not the one that this backup was written with.',
  },
  BACKUP_SPACE_EXHAUSTED: { 'DM-30025 400': 'The place of the backup has no room: {shortfall}.' },
  BACKUP_TARGET_LIMIT_EXCEEDED: { 'DM-30020 422 LIMIT_EXCEEDED': '{limit}: at most {maximum}, found {found}.' },
  BACKUP_VERIFICATION_FAILED: { 'DM-30026 409': 'The backup was written but could not be read back: {part}.' },
  BACKUP_VERSION_UNSUPPORTED: {
    'DM-30032 400': 'The backup comes from version {version}, which is newer than this product ({productVersion}).',
  },
  CATEGORY_ALREADY_EXISTS: {
    'CAT-10001 409 ENTITY_ALREADY_EXISTS': 'A {kind} with the same {fields} exists already. Choose another value.',
  },
  CATEGORY_IN_USE: {
    'CAT-10002 409 ENTITY_IN_USE': 'The category "{key}:{value}" is assigned to {users}. Remove it from those first.',
  },
  DOMAIN_MANAGER_ALREADY_EXISTS: {
    'DM-30001 409 ENTITY_ALREADY_EXISTS': 'A {kind} with the same {fields} exists already. Choose another name.',
  },
  DOMAIN_MANAGER_DOES_NOT_FIT: {
    'DM-30002 409 INSUFFICIENT_RESOURCES': 'The cluster has no room for the nodes of this manager: {shortfall}.',
  },
  DOMAIN_MANAGER_IN_USE: { 'DM-30007 409 ENTITY_IN_USE': '"{name}" cannot be unregistered: {reasons}.' },
  INSTANCE_NOT_FRESH: { 'DM-30030 409': 'A restore needs a fresh instance; this one holds {found}.' },
  OBJECT_STORE_ACCESS_DENIED: {
    'DM-30022 400': 'The object store at {endpoint} refused access to the bucket "{bucket}".',
  },
  OBJECT_STORE_BUCKET_NOT_FOUND: { 'DM-30023 400': 'The object store at {endpoint} has no bucket "{bucket}".' },
  OBJECT_STORE_TLS_FAILED: { 'DM-30024 400': 'No trusted connection to the object store at {endpoint}: {cause}.' },
  OBJECT_STORE_UNREACHABLE: { 'DM-30021 400': 'The place of the backup at {endpoint} does not answer: {cause}.' },
  PRODUCT_DOES_NOT_FIT: {
    'DM-30010 409 INSUFFICIENT_RESOURCES': 'The hosting cluster has no room for the product {product}: {shortfall}.',
  },
  PRODUCT_NOT_ENABLED: { 'DM-30011 409': 'This needs the product {product}: enable it first.' },
  REGISTRATION_PRECHECK_FAILED: { 'DM-30006 409': 'The remote side at {address} cannot be registered: {reasons}.' },
  REMOTE_ALREADY_REGISTERED: {
    'DM-30003 409 ALREADY_REGISTERED': '"{name}" is registered already, here or with another manager.',
  },
  REMOTE_AUTHENTICATION_FAILED: { 'DM-30005 409': 'The remote side at {address} refused the credentials.' },
  REMOTE_UNREACHABLE: { 'DM-30004 409': 'The remote side at {address} does not answer.' },
  SYSTEM_CATEGORY: {
    'CAT-10003 403':
      'Categories of type {type} belong to the system: they can be assigned, but not created, changed or deleted.',
  },
  TASK_ALREADY_FINISHED: { 'TSKS-20902 409': 'The task {taskExtId} is finished ({status}) and cannot be cancelled.' },
  TASK_INTERRUPTED_BY_RESTORE: { 'TSKS-20910 409': 'The task was interrupted by restore.' },
  TASK_LEGACY_ERROR: { 'TSKS-20801 500 LEGACY_ERROR': '{fault}' },
  TASK_NOT_CANCELABLE: { 'TSKS-20903 409': 'The task {taskExtId} ({operation}) cannot be cancelled.' },
  TASK_NOT_FOUND: { 'TSKS-20904 404 ENTITY_NOT_FOUND': 'There is no {kind} {id} ({attribute}), or it is not visible.' },
})

export const platformMessages = {
  CATEGORY_UPDATE_SUCCESS: { code: 'CAT-10000', message: 'Category updated successfully' },
  TASK_CANCELLATION_SUCCESS: { code: 'TSKS-20901', message: 'Task cancellation issued successfully as requested' },
} as const
