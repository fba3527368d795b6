/** The kinds of the namespace by stem: one line per kind, sorted. */

export { backupTargetOperations as 'backup-target' } from './backup-target.ts'
export { batchOperations as batch } from './batch.ts'
export { categoryOperations as category } from './category.ts'
export { domainManagerOperations as 'domain-manager' } from './domain-manager.ts'
export { externalStorageOperations as 'external-storage' } from './external-storage.ts'
export { productOperations as product } from './product.ts'
export { registrationOperations as registration } from './registration.ts'
export { restorableDomainManagerOperations as 'restorable-domain-manager' } from './restorable-domain-manager.ts'
export { restorePointOperations as 'restore-point' } from './restore-point.ts'
export { restoreSourceOperations as 'restore-source' } from './restore-source.ts'
export { taskOperations as task } from './task.ts'
export { taskJobOperations as 'task-job' } from './task-job.ts'
