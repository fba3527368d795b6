import { namespace } from '../operation.ts'
import { backupTargetOperations } from './backup-target.ts'
import { batchOperations } from './batch.ts'
import { categoryOperations } from './category.ts'
import { domainManagerOperations } from './domain-manager.ts'
import { platformErrors } from './errors.ts'
import { externalStorageOperations } from './external-storage.ts'
import { productOperations } from './product.ts'
import { registrationOperations } from './registration.ts'
import { restorableDomainManagerOperations } from './restorable-domain-manager.ts'
import { restorePointOperations } from './restore-point.ts'
import { restoreSourceOperations } from './restore-source.ts'
import { taskOperations } from './task.ts'
import { taskJobOperations } from './task-job.ts'

export const platform = namespace({
  name: 'platform',
  versions: ['v4.3'],
  label: '1.0.0',
  kinds: {
    'backup-target': backupTargetOperations,
    batch: batchOperations,
    category: categoryOperations,
    'domain-manager': domainManagerOperations,
    'external-storage': externalStorageOperations,
    product: productOperations,
    registration: registrationOperations,
    'restorable-domain-manager': restorableDomainManagerOperations,
    'restore-point': restorePointOperations,
    'restore-source': restoreSourceOperations,
    task: taskOperations,
    'task-job': taskJobOperations,
  },
  errors: platformErrors,
})
