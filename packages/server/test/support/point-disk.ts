/** A disk of a recovery point, as the source of other disks. */
import { seedId } from '../../src/core/ids/named-id.ts'
import { createdPath, once } from './field-bases.ts'
import type { TestApp } from './start-app.ts'

/** The `backingInfo` of a disk with the content of a demo VM's disk, in a recovery point that is made once. */
export async function pointDisk(app: TestApp): Promise<object> {
  const vmExtId = seedId('vm/template-source')
  const path = await once(app, 'recovery point with a disk', () =>
    createdPath(app, '/vmm/v4.2/ahv/config/vm-recovery-points', { vmExtId }),
  )
  const { data } = await app.call('GET', path)
  const reference = {
    $objectType: 'vmm.v4.ahv.config.VmDiskRecoveryPointReference',
    vmRecoveryPointExtId: data.extId,
    diskRecoveryPointExtId: data.diskRecoveryPoints[0].diskRecoveryPointExtId,
  }
  return { dataSource: { reference } }
}
