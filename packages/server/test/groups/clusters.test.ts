import { run } from './groups.ts'

run('clusters')
