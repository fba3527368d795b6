/** Source: behaviour networking.md 1.12. */
import type { BodyOf, EntityOf } from '@hyperplane/contract'
import type { Layer2Stretch } from '@hyperplane/contract/networking/layer2-stretch'
import type { AddressPlan } from '../../addressing/address-plan.ts'

export type StretchEntity = EntityOf<typeof Layer2Stretch>
export type StretchBody = BodyOf<typeof Layer2Stretch>
export type SiteParams = StretchEntity['localSiteParams']

export const familyOf = (plan: AddressPlan): 'IPV4' | 'IPV6' => (plan.IPV4 === undefined ? 'IPV6' : 'IPV4')
