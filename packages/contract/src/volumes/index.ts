/** Source: specification 1, 2.2, 4.3; catalogue volumes.json. */
import { namespace } from '../operation.ts'
import { VolumeGroupAttachment } from './attachment.ts'
import { volumesErrors } from './errors.ts'
import * as kinds from './kinds.ts'
import { VolumeGroupRecoveryPoint } from './recovery-point.ts'

export const volumes = namespace({
  name: 'volumes',
  versions: ['v4.2'],
  label: '1.0.0',
  kinds,
  resources: [VolumeGroupAttachment, VolumeGroupRecoveryPoint],
  errors: volumesErrors,
})
