/** Every domain, by the prefix of its operations' keys. */

import * as clustermgmt from './clustermgmt/index.ts'
import type { KindDomain } from './context.ts'
import * as iam from './iam/index.ts'
import * as networking from './networking/index.ts'
import * as platform from './platform/index.ts'
import * as storage from './storage/index.ts'
import { extern } from './vmm/extern/index.ts'
import * as vmm from './vmm/index.ts'
import * as volumes from './volumes/index.ts'

/** Named one by one, because the type of all of them together is too long for a declaration. */
export interface Namespaces {
  readonly clustermgmt: typeof clustermgmt
  readonly iam: typeof iam
  readonly networking: typeof networking
  readonly platform: typeof platform
  readonly storage: typeof storage
  readonly vmm: typeof vmm
  readonly 'vmm.extern': typeof extern
  readonly volumes: typeof volumes
}

const namespaces: Namespaces = {
  clustermgmt,
  iam,
  networking,
  platform,
  storage,
  vmm,
  'vmm.extern': extern,
  volumes,
}

export const domains: Readonly<Record<string, Readonly<Record<string, KindDomain>>>> = { ...namespaces }
