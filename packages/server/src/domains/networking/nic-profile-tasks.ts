/** Virtual functions of host NICs. Source: behaviour networking.md 1.19, 1.22. */
import type { EntityOf } from '@hyperplane/contract'
import { NicProfile } from '@hyperplane/contract/networking/nic-profile'
import { defineTask, type RecordContext, type Step } from '../context.ts'

export type ProfileEntity = EntityOf<typeof NicProfile>
export type Association = NonNullable<ProfileEntity['associations']>[number]

export interface OfHostNic {
  readonly profileExtId: string
  readonly association: Association
}

type Call = NonNullable<Step<OfHostNic>['undo']>

const enable: Call = ({ drivers }, { profileExtId, association: { hostExtId, nicName: name } }) =>
  drivers.networkFabric.enableVirtualFunctions({ hostExtId, name }, profileExtId)
const disable: Call = ({ drivers }, { association: { hostExtId, nicName: name } }) =>
  drivers.networkFabric.disableVirtualFunctions({ hostExtId, name })

async function settle(
  { store }: RecordContext,
  { profileExtId }: OfHostNic,
  next: (present: readonly Association[]) => readonly Association[],
): Promise<void> {
  const { associations = [] } = (await store.get(NicProfile, profileExtId)) ?? {}
  const changed = next(associations)
  const changes = { associations: changed.length === 0 ? undefined : [...changed], change: undefined }
  // The tag covers configuration only, and an association is none.
  await store.observe(NicProfile, profileExtId, changes)
}

async function onUndone({ store }: RecordContext, { profileExtId }: OfHostNic): Promise<void> {
  await store.observe(NicProfile, profileExtId, { change: undefined })
}

export const associate = defineTask<OfHostNic>({
  name: 'networking.associate-host-nic',
  steps: [
    {
      name: 'enable virtual functions',
      seconds: [88, 118],
      run: enable,
      undo: disable,
      record: (ctx, input) => settle(ctx, input, (present) => [...present, input.association]),
    },
  ],
  onUndone,
})

export const disassociate = defineTask<OfHostNic>({
  name: 'networking.disassociate-host-nic',
  steps: [
    {
      name: 'disable virtual functions',
      seconds: [88, 118],
      run: disable,
      undo: enable,
      record: (ctx, input) =>
        settle(ctx, input, (present) =>
          present.filter(({ hostNicExtId }) => hostNicExtId !== input.association.hostNicExtId),
        ),
    },
  ],
  onUndone,
})
