import { anything, mapOf, object, optional } from '@hyperplane/contract'
import { about, name, named } from './words.ts'

export const Performed = object('', {
  operation: about('Its key, networking.createVpc, or its operationId alone.', name()),
  ...named(),
  name: optional(
    about(
      'By which later references name what it creates; its id follows from it. Default: the name in the body.',
      name(),
    ),
  ),
  cluster: optional(about('Of the header X-Cluster-Id.', name())),
  path: optional(about('Parameters of the path: names, or ids.', mapOf(name()))),
  body: optional(
    about(
      'As of a request. Names may stand for ids, texts for addresses (10.0.0.1) and prefixes (10.0.0.0/24).',
      anything(),
    ),
  ),
})
