/** customizeGuestVm, and the profiles that clones are made with. Source: behaviour vmm.md 1.1 (customize-guest), 1.14, 1.16. */
import type { ValueOf } from '@hyperplane/contract'
import type { VmGcProfileConfig } from '@hyperplane/contract/vmm/vm/guest/customization-profile'
import type { GuestCustomizationParams } from '@hyperplane/contract/vmm/vm/guest/guest-customization'
import { VmGuestCustomizationProfile } from '@hyperplane/contract/vmm/vm/guest/vm-guest-customization-profile'
import { Vm } from '@hyperplane/contract/vmm/vm/vm'
import type { ApiError } from '../../../../core/api-error.ts'
import type { TaskStarted } from '../../../../core/handlers.ts'
import { rowWithId } from '../../../../core/standard.ts'
import type { SecretReader } from '../../../../core/world.ts'
import type { Drivers } from '../../../../drivers/drivers.ts'
import type { Reader } from '../../../../store/store.ts'
import { defineTask, type WriteContext } from '../../../context.ts'
import type { VmEntity } from '../../../virtual-machines/entity.ts'
import { fault } from '../../../virtual-machines/fault.ts'
import { admitVm, endUnchanged, type OfVm, requireVm, taskOf } from '../admission.ts'
import { scriptFaults } from '../rules.ts'
import { type StagedSettings, stagedSettings } from './profile-settings.ts'

type Params = ValueOf<typeof GuestCustomizationParams>

interface Customize extends OfVm {
  readonly guestCustomization: Params
}

export const paramsFaults = (body: Params): ApiError[] =>
  body.config === undefined ? [fault('config', 'Sysprep or CloudInit', undefined)] : scriptFaults(body, '')

/** Sysprep is staged on every VM, but has an effect on Windows only. */
export async function systemWarnings(
  { hypervisor }: Pick<Drivers, 'hypervisor'>,
  vmExtId: string,
  params: Params | undefined,
): Promise<readonly string[]> {
  if (params?.config?.$objectType !== 'vmm.v4.ahv.config.Sysprep') return []
  const system = await hypervisor.installedSystem(vmExtId)
  return system?.version.startsWith('windows') === true
    ? []
    : ['The customization is for Windows, and the VM does not start Windows from its boot disk.']
}

export async function customizeGuest(ctx: WriteContext<VmEntity>, body: Params): Promise<TaskStarted> {
  const vm = await admitVm(ctx, ctx.target, 'customize-guest')
  return ctx.startTask(customize, { vmExtId: vm.extId, guestCustomization: body }, taskOf('CustomizeGuest', vm))
}

export const customize = defineTask<Customize>({
  name: 'vmm.customize-guest-vm',
  steps: [
    {
      name: 'check payload',
      progress: 30,
      run: async ({ drivers, store }, { vmExtId, guestCustomization }) => {
        await requireVm(store, vmExtId, 'customize-guest')
        return systemWarnings(drivers, vmExtId, guestCustomization)
      },
      record: async (ctx, _, warnings) => {
        for (const text of warnings as readonly string[]) ctx.warn(text)
      },
      // No undo: the step only reads.
    },
    {
      name: 'store staged copy',
      record: async (ctx, { vmExtId, guestCustomization }) => {
        await requireVm(ctx.store, vmExtId, 'customize-guest')
        const staged = { guestCustomization, vmGuestCustomizationStatus: 'PENDING', guestSettings: undefined } as const
        await ctx.store.update(Vm, vmExtId, { ...staged, updateTime: ctx.clock.iso() })
      },
    },
  ],
  onUndone: endUnchanged,
})

const secretPaths = [
  'config/customization/generalSettings/administratorPassword',
  'config/customization/generalSettings/windowsProductKey',
  'config/customization/workgroupOrDomainInfo/credentials/password',
]

/** @throws ApiError 400 naming each setting that is missing or does not fit */
export async function settingsFrom(
  ctx: { readonly store: Reader; readonly secrets: SecretReader },
  { profile: { extId = '' }, configOverrideSpec }: ValueOf<typeof VmGcProfileConfig>,
  vm: { readonly name: string; readonly nics: number },
): Promise<StagedSettings> {
  const { kind } = VmGuestCustomizationProfile
  const attribute = 'guestCustomizationProfileConfig/profile/extId'
  let { config } = await rowWithId(ctx.store, VmGuestCustomizationProfile, extId, attribute)
  for (const path of secretPaths)
    config = opened({ config }, path.split('/'), (sealed) => ctx.secrets.open(kind, extId, path, sealed)).config
  return stagedSettings(config, configOverrideSpec, vm)
}

function opened<T>(at: T, [name, ...rest]: readonly string[], open: (sealed: unknown) => unknown): T {
  const value = (at as Readonly<Record<string, unknown>>)[name as string]
  if (value === undefined) return at
  return { ...at, [name as string]: rest.length === 0 ? open(value) : opened(value, rest, open) }
}
