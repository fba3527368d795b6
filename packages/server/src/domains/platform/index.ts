import { backupTarget } from './backup-target.ts'
import { batch } from './batch.ts'
import { category } from './category.ts'
import { domainManager } from './domain-manager.ts'
import { externalStorage } from './external-storage.ts'
import { product } from './product.ts'
import { registration } from './registration.ts'
import { restorableDomainManager } from './restorable-domain-manager.ts'
import { restorePoint } from './restore-point.ts'
import { restoreSource } from './restore-source.ts'
import { task } from './task.ts'
import { taskJob } from './task-job.ts'

export const platform = {
  backupTarget,
  batch,
  category,
  domainManager,
  externalStorage,
  product,
  registration,
  restorableDomainManager,
  restorePoint,
  restoreSource,
  task,
  taskJob,
}
