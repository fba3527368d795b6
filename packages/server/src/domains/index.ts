/** Every domain, by the prefix of its operations' keys. */

import { clustermgmt } from './clustermgmt/index.ts'
import type { KindDomain } from './context.ts'
import { iam } from './iam/index.ts'
import { networking } from './networking/index.ts'
import { platform } from './platform/index.ts'
import { storage } from './storage/index.ts'
import { extern } from './vmm/extern/index.ts'
import { vmm } from './vmm/index.ts'
import { volumes } from './volumes/index.ts'

const namespaces = {
  clustermgmt,
  iam,
  networking,
  platform,
  storage,
  vmm,
  'vmm.extern': extern,
  volumes,
}

export type Namespaces = typeof namespaces

export const domains: Readonly<Record<string, Readonly<Record<string, KindDomain>>>> = namespaces
