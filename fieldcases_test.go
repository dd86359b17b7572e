package main

import (
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"ray-on-aks/infra"
	"ray-on-aks/internal/strict"
	"ray-on-aks/queues"
	"ray-on-aks/workloads"
)

// fieldCases are the mistakes of others that this program is held to, by their numbers: what has gone wrong for people who run Ray on
// Kubernetes, of that what can be seen without a cluster. Of each, the tests that show what the program does right by itself; what it
// refuses is in the corpus of invalid stacks.
var fieldCases = map[string][]string{
	// The count of nodes fights the autoscaler.
	"B01": {"TestPoolsBelongToTheAutoscaler"},
	// Azure adds properties to spot pools.
	"B04": nil,
	// What cannot be changed replaces a pool with its jobs.
	"B05": {"TestProdIsProtected", "TestAllowReplaceTakesProtectionOff", "TestAPoolThatGoesIsNamedWhileItIsThere"},
	// Names that are refused late.
	"B06": {"TestPoolsBelongToTheAutoscaler", "TestLongestNamesFit"},
	// Credentials of one identity are written at the same time.
	"B08": {"TestCredentialsOfAnIdentityAreWrittenOneByOne", "TestRemovingATenantLeavesTheOtherAlone", "TestAnIdentityHasTwentyCredentialsAtMost"},
	// Role assignments are replaced, or are there already.
	"B09": {"TestAssignmentNameFollowsWhatItSays", "TestEachTenantHasAnIdentityOfItsOwn"},
	// A kubeconfig that asks for a browser, or is no secret.
	"B10": {"TestKubeconfigLogsInWithoutABrowser", "TestSecretsAreNowherePlain"},
	// Pools are deleted one by one before their cluster.
	"B11b": {"TestPoolsGoWithTheirCluster"},
	// AKS upgrades what the program pins.
	"B11c": nil,
	// Custom resources before their definitions.
	"B12": {"TestQueuesAndWorkloadsComeAfterKueue"},
	// Everything is replaced when the kubeconfig changes. No stack file can ask for that.
	"B14": {"TestProviderIsNeverReplacedByCredentials"},
	// Destroy hangs when the cluster is gone. No stack file can ask for that.
	"B18": {"TestEverythingInTheClusterGoesWithIt", "TestProdIsProtected"},
	// Queues and operators go before what needs them.
	"B19": {"TestObjectsComeAfterWhatTheyReferTo", "TestQueuesAndWorkloadsComeAfterKueue"},
	// Quota that forgets head and submitter.
	"B20": {"TestWhatCanNeverRunIsRefused", "TestWhatIsSuggestedFits"},
	// Heads on GPU nodes.
	"B21": {"TestOnlyGPUWorkersGoToGPUNodes", "TestCPUFlavorComesFirst", "TestFlavorsNeverTolerate"},
	// More groups of workers than Kueue takes.
	"B23": {"TestAnAPIServerTakesThem"},
	// Ray's own autoscaler under Kueue.
	"B25": nil,
	// An upgrade of a service needs twice its room.
	"B26": {"TestUpgradeNeedsTheRoomOfTwo", "TestServicesAreOutsideKueue"},
	// What KubeRay refuses holds its quota.
	"B27": {"TestKubeRayIsTheLastGuard", "TestLongestNamesFit"},
	// Preemption without an end.
	"B28": {"TestGolden"},
	// References to what does not exist.
	"B30": {"TestTenants", "TestObjectsComeAfterWhatTheyReferTo"},
	// The cluster of a service is taken for a job.
	"B31c": {"TestServicesAreOutsideKueue", "TestConfigurationIsWhatKueueReads"},
	// Quota above the hardware.
	"B31d": {"TestNothingIsLost", "TestNominal", "TestValidateKnowsWhatServicesHold"},
	// Less time than a node needs to come up.
	"B31e": {"TestAShortWaitForGPUNodesIsWarnedOf", "TestConfigurationIsWhatKueueReads"},
	// Runs that delete themselves and are run again.
	"B33": {"TestRunsAreImmutable", "TestGoldenObjects"},
	// Runs that never come up, for ever.
	"B35": {"TestGoldenObjects"},
	// Upgrades of a service that never end.
	"B36": {"TestUpgradeNeedsTheRoomOfTwo"},
	// A dashboard that runs anybody's programs.
	"B38": {"TestServicesHaveATokenOfTheirOwn", "TestGoldenObjects"},
	// Mounts by the wrong identity.
	"B40": {"TestVolumeAndClaimAreWhatKubernetesReads", "TestEachTenantMountsEachContainer"},
	// Mounts by keys that are switched off.
	"B41": {"TestVolumeAndClaimAreWhatKubernetesReads", "TestClusterInputs"},
	// Volumes that go with their data.
	"B43": {"TestVolumeAndClaimAreWhatKubernetesReads", "TestProdIsProtected"},
	// Caches that fill a node.
	"B44": {"TestMountsStayWithinWhatNodesKeepForThem"},
	// A second storage driver, and one that a taint keeps away.
	"B45": {"TestClusterInputs"},
	// GPUs that no node offers.
	"B47": {"TestGPUOperators", "TestGPUOperatorsAreOnlyWhereGPUsAre"},
	// Labels that the autoscaler does not know.
	"B48": {"TestGPUPoolInputs", "TestFlavorsNeverTolerate"},
	// Sizes and zones that are not to be had. What a subscription may have, and what a region has left, is not known before `up`.
	"B49": {"TestA100sAreAsAzureSellsThem", "TestZones"},
	// Heads on nodes that are taken away.
	"B50": {"TestOnlyGPUWorkersGoToGPUNodes"},
	// Names of pools that are written twice.
	"B51": {"TestCPUFlavorComesFirst", "TestOnlyGPUWorkersGoToGPUNodes"},
	// Controllers that starve.
	"B52": {"TestManagerRunsOnTheSystemPool", "TestTheCPUPoolNeverServes"},
	// Requests that can never be met.
	"B56": {"TestWhatCanNeverRunIsRefused", "TestLimitIsWhatCounts"},
}

// caseOf finds the case that the name of a file and its first line begin with.
var caseOf = regexp.MustCompile(`^(?:# )?(B\d+[a-z]?)(?:-|\([a-z]\)|:)`)

// TestEveryFieldCaseIsHeld: each case has an invalid stack, or a test of what is right, and no file or test of a case is missing.
func TestEveryFieldCaseIsHeld(t *testing.T) {
	files := map[string]int{}
	for _, file := range invalidFiles(t) {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		name, header := caseOf.FindStringSubmatch(filepath.Base(file)), caseOf.FindStringSubmatch(string(data))
		if name == nil || header == nil || name[1] != header[1] {
			t.Errorf("%s is of case %v by its name, and of %v by its first line", file, name, header)
			continue
		}
		if _, ok := fieldCases[name[1]]; !ok {
			t.Errorf("%s is of a case that is not on the list", file)
		}
		files[name[1]]++
	}
	tests := testNames(t)
	for name, shown := range fieldCases {
		if files[name] == 0 && len(shown) == 0 {
			t.Errorf("nothing holds case %s", name)
		}
		for _, test := range shown {
			if !slices.Contains(tests, test) {
				t.Errorf("%s: there is no %s", name, test)
			}
		}
	}
}

// TestAbsentKeysAreAbsent: a key that comes to be there is not said to be missing.
func TestAbsentKeysAreAbsent(t *testing.T) {
	for _, object := range []strict.Absent{
		infra.Args{}, infra.Cluster{}, infra.Pool{}, infra.Storage{}, infra.Operators{}, infra.Operator{},
		queues.Args{}, queues.Team{}, workloads.Workload{}, workloads.Size{},
	} {
		fields := strict.Fields(reflect.TypeOf(object))
		for key, why := range object.Absent() {
			if _, there := fields[key]; there {
				t.Errorf("%T has %s", object, key)
			}
			if why == "" || strings.HasSuffix(why, ".") {
				t.Errorf("%T: of %s is said %q", object, key, why)
			}
		}
	}
}
