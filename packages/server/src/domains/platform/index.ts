/** Handlers of the namespace platform: one line per kind, sorted. */

export { backupTarget } from './backup-target.ts'
export { batch } from './batch.ts'
export { category } from './category.ts'
export { domainManager } from './domain-manager.ts'
export { externalStorage } from './external-storage.ts'
export { product } from './product.ts'
export { registration } from './registration.ts'
export { restorableDomainManager } from './restorable-domain-manager.ts'
export { restorePoint } from './restore-point.ts'
export { restoreSource } from './restore-source.ts'
export { task } from './task.ts'
export { taskJob } from './task-job.ts'
