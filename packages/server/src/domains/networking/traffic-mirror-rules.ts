/** Source: behaviour networking.md 1.16. */
import type { BodyOf, EntityOf } from '@hyperplane/contract'
import type { TrafficMirror } from '@hyperplane/contract/networking/traffic-mirror'
import type { ApiError } from '../../core/api-error.ts'
import { invalidField } from './ip-config.ts'

export type MirrorEntity = EntityOf<typeof TrafficMirror>
export type MirrorBody = BodyOf<typeof TrafficMirror>

export function mirrorFaults({ sourceList, destinationList, hostReferenceList }: MirrorBody): readonly ApiError[] {
  const ports = [
    ...sourceList.map((port, index) => ({ ...port, path: `sourceList[${index}]` })),
    ...destinationList.map((port, index) => ({ ...port, path: `destinationList[${index}]` })),
  ]
  const hasHostNic = ports.some(({ nicType }) => nicType === 'HOST_NIC')
  if (hasHostNic && hostReferenceList === undefined)
    return [invalidField('hostReferenceList', 'is required with a HOST_NIC')]
  return ports.flatMap(({ nicUuid, path }, index) =>
    ports.findIndex((other) => other.nicUuid === nicUuid) < index
      ? [invalidField(`${path}/nicUuid`, 'expected each NIC once, as a source or as a destination')]
      : [],
  )
}
