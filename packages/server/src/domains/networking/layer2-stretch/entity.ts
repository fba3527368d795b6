/** Source: behaviour networking.md 1.12. */
import type { BodyOf, EntityOf } from '@hyperplane/contract'
import type { Layer2Stretch } from '@hyperplane/contract/networking/layer2-stretch'

export type StretchEntity = EntityOf<typeof Layer2Stretch>
export type StretchBody = BodyOf<typeof Layer2Stretch>
export type SiteParams = StretchEntity['localSiteParams']
