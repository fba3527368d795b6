/** Customisation profiles of versions, and settings of VMs deployed with one. Source: behaviour vmm.md 1.10, 1.14. */
import type { ValueOf } from '@hyperplane/contract'
import { TemplateVersion } from '@hyperplane/contract/vmm/content/template'
import type { VmGcProfileConfig } from '@hyperplane/contract/vmm/vm/guest/customization-profile'
import { ApiError } from '../../../../core/api-error.ts'
import type { SecretReader } from '../../../../core/world.ts'
import type { Reader } from '../../../../store/store.ts'
import { fault, withPathPrefix } from '../../../virtual-machines/fault.ts'
import type { Overrides } from '../../vm/create/derived-vm.ts'
import { settingsFrom } from '../../vm/guest/customize.ts'
import type { StagedSettings } from '../../vm/guest/profile-settings.ts'
import { type OverrideBody, sourceIn, type VersionBody } from './rules.ts'
import type { VersionEntity } from './version-content.ts'

type ProfileOverride = ValueOf<typeof VmGcProfileConfig>['configOverrideSpec']

interface Reading {
  readonly store: Reader
  readonly secrets: SecretReader
}

export type VersionSettings = Partial<Pick<VersionEntity, 'guestCustomizationProfile' | 'profileOverride'>>

const overrideOf = (secrets: SecretReader, { extId, profileOverride }: VersionEntity): ProfileOverride => {
  const json = secrets.open(TemplateVersion.kind, extId, 'profileOverride', profileOverride)
  return json === undefined ? undefined : JSON.parse(json)
}

/** @param copied the version that the new one is made from; its profile holds unless the body has a customisation */
export async function versionSettings(
  { secrets }: Reading,
  version: VersionBody,
  copied?: VersionEntity,
): Promise<VersionSettings> {
  const { overrideVmConfig, guestCustomization, guestCustomizationProfile } = sourceIn(version)
  const profile = version.guestCustomizationProfile ?? guestCustomizationProfile
  if (profile !== undefined) return { guestCustomizationProfile: profile }
  const config = overrideVmConfig?.guestCustomizationProfileConfig
  if (config !== undefined) {
    if (config.profile.extId === undefined)
      throw fault(
        `templateVersionSpec/versionSource/overrideVmConfig/${profileField}`,
        'the id of a profile',
        undefined,
      )
    return settled(config.profile, config.configOverrideSpec)
  }
  if (guestCustomization !== undefined || overrideVmConfig?.guestCustomization !== undefined) return {}
  if (copied?.guestCustomizationProfile === undefined) return {}
  return settled(copied.guestCustomizationProfile, overrideOf(secrets, copied))
}

const profileField = 'guestCustomizationProfileConfig/profile/extId'

const settled = (
  guestCustomizationProfile: NonNullable<VersionEntity['guestCustomizationProfile']>,
  profileOverride: ProfileOverride,
): VersionSettings => ({
  guestCustomizationProfile,
  ...(profileOverride === undefined ? {} : { profileOverride }),
})

export const withoutProfile = ({ guestCustomizationProfileConfig: _, ...overrides }: OverrideBody): Overrides =>
  overrides as Overrides

interface DeployedVm {
  readonly name: string
  readonly overrides: OverrideBody
}

/** Undefined without a profile. @throws ApiError 400 naming each setting that is missing or does not fit; 404 */
export async function customizationSettings(
  ctx: Reading,
  version: VersionEntity,
  { name, overrides }: DeployedVm,
): Promise<StagedSettings | undefined> {
  const { guestCustomizationProfileConfig: given, guestCustomization, nics = version.vmSpec?.nics ?? [] } = overrides
  if (given === undefined && guestCustomization !== undefined) return undefined
  const own = version.guestCustomizationProfile
  const profile = given?.profile.extId === undefined ? own : given.profile
  if (profile === undefined) {
    if (given === undefined) return undefined
    throw fault(profileField, 'the id of a profile: the version has none', undefined)
  }
  const isOwn = profile.extId === own?.extId
  const configOverrideSpec = given?.configOverrideSpec ?? (isOwn ? overrideOf(ctx.secrets, version) : undefined)
  return settingsFrom(ctx, { profile, configOverrideSpec }, { name, nics: nics.length })
}

/** For each VM of a deployment, whose guests must have distinct names. */
export async function customizationFaults(
  ctx: Reading,
  version: VersionEntity,
  vms: readonly DeployedVm[],
): Promise<ApiError[]> {
  const faults: ApiError[] = []
  const taken = new Set<string>()
  for (const [number, vm] of vms.entries()) {
    const path = `overrideVmConfigMap/${number}`
    try {
      const computerName = (await customizationSettings(ctx, version, vm))?.guestSettings.computerName?.toLowerCase()
      if (computerName !== undefined && taken.has(computerName))
        faults.push(fault(path, 'a computer name that no other VM of the deployment gets', computerName))
      if (computerName !== undefined) taken.add(computerName)
    } catch (error) {
      if (!(error instanceof ApiError)) throw error
      faults.push(...withPathPrefix(path, [error]))
    }
  }
  return faults
}
